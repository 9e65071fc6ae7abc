"""Model answers on the model: a block, and a language model of several."""

import functools
from collections.abc import Mapping

from torch import Tensor

from .attention import multihead_self_attention_with_rope
from .layers import rmsnorm, swiglu
from .parts import Parts

_EPS = 1e-5


def transformer_block(
    parts: Parts,
    d_model: int,
    num_heads: int,
    d_ff: int,
    max_seq_len: int,
    theta: float,
    weights: Mapping[str, Tensor],
    in_features: Tensor,
) -> Tensor:
    """Adds to each token its attention's output, and then the next layer's output."""
    first, second = parts.norms_in_order(weights["ln1.weight"], weights["ln2.weight"])
    projections = (weights[f"attn.{name}.weight"] for name in _PROJECTIONS)
    attend = functools.partial(
        multihead_self_attention_with_rope,
        *(parts, d_model, num_heads, max_seq_len, theta),
        *projections,
    )
    feed_weights = (weights[f"ffn.w{number}.weight"] for number in (1, 2, 3))
    return parts.arrange_block(
        in_features,
        functools.partial(rmsnorm, parts, d_model, _EPS, first),
        attend,
        functools.partial(rmsnorm, parts, d_model, _EPS, second),
        functools.partial(swiglu, parts, d_model, d_ff, *feed_weights),
    )


def transformer_lm(
    parts: Parts,
    vocab_size: int,
    context_length: int,
    d_model: int,
    num_layers: int,
    num_heads: int,
    d_ff: int,
    rope_theta: float,
    weights: Mapping[str, Tensor],
    in_indices: Tensor,
) -> Tensor:
    """Scores every token of the vocabulary as the next one, after each token of a text."""
    sizes = (d_model, num_heads, d_ff, context_length, rope_theta)
    blocks = [
        functools.partial(
            transformer_block,
            parts,
            *sizes,
            _of_block(weights, parts.weights_of_block(number, num_layers)),
        )
        for number in range(num_layers)
    ]
    token_embeddings = weights["token_embeddings.weight"]
    head_weight = parts.head_weight(token_embeddings, weights["lm_head.weight"])
    return parts.arrange_model(
        parts.step("embedded", parts.look_up(token_embeddings, in_indices)),
        blocks,
        functools.partial(rmsnorm, parts, d_model, _EPS, weights["ln_final.weight"]),
        lambda features: features @ head_weight.T,
    )


def _of_block(weights: Mapping[str, Tensor], number: int) -> dict[str, Tensor]:
    """Returns the weights of one block, by their names within it."""
    start = f"layers.{number}."
    return {
        name.removeprefix(start): weight
        for name, weight in weights.items()
        if name.startswith(start)
    }


_PROJECTIONS = ("q_proj", "k_proj", "v_proj", "output_proj")
