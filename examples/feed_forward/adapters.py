"""The contract: the functions that the grader calls, each with its types and conventions.

Every adapter hands over to a function of `assignment/`, where your work goes. You may hand over to
code of your own instead; keep the names and the parameters, for they are called by keyword.

`Float[Tensor, "... d"]` is a tensor of floating-point numbers with any number of leading axes
(none, a batch, a batch and a sequence, ...), then an axis of length `d`. Results have the dtype of
the inputs and lie on their device; the inputs stay as they are.
"""

from beartype import BeartypeConf, beartype
from jaxtyping import Float, jaxtyped
from torch import Tensor

from assignment import feed_forward, norms

# An int is welcome where a float is asked for.
typed = jaxtyped(typechecker=beartype(conf=BeartypeConf(is_pep484_tower=True)))


@typed
def run_layer_norm(
    in_features: Float[Tensor, "... d"],
    weight: Float[Tensor, "d"],
    bias: Float[Tensor, "d"],
    eps: float,
) -> Float[Tensor, "... d"]:
    """Layer normalisation over the last axis.

    in_features: `(..., d)`; weight, bias: `(d,)`, the gain and the shift of each feature.
    eps: added to the variance.
    Returns `(..., d)`.
    """
    return norms.layer_norm(in_features, weight, bias, eps)


@typed
def run_rms_norm(
    in_features: Float[Tensor, "... d"], weight: Float[Tensor, "d"], eps: float
) -> Float[Tensor, "... d"]:
    """Root mean square normalisation over the last axis.

    in_features: `(..., d)`; weight: `(d,)`, the gain of each feature.
    eps: added to the mean of the squares.
    Returns `(..., d)`.
    """
    return norms.rms_norm(in_features, weight, eps)


@typed
def run_silu(in_features: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """The SiLU, number by number.

    in_features: any shape.
    Returns the shape of `in_features`.
    """
    return feed_forward.silu(in_features)


@typed
def run_swiglu(
    gate_weight: Float[Tensor, "d_ff d_model"],
    up_weight: Float[Tensor, "d_ff d_model"],
    down_weight: Float[Tensor, "d_model d_ff"],
    in_features: Float[Tensor, "... d_model"],
) -> Float[Tensor, "... d_model"]:
    """A feed-forward layer gated by a SiLU.

    gate_weight, up_weight: `(d_ff, d_model)`; down_weight: `(d_model, d_ff)`; as in
    `torch.nn.Linear`, `y = x @ W.T`, without bias.
    in_features: `(..., d_model)`.
    Returns `(..., d_model)`.
    """
    return feed_forward.swiglu(gate_weight, up_weight, down_weight, in_features)
