"""The contract: the functions that the grader calls, each with its types and conventions.

Every adapter hands over to a function of `assignment/`, where your work goes. You may hand over to
code of your own instead; keep the names and the parameters, for they are called by keyword.

How to read the types: `Float[Tensor, "... queries d_k"]` is a tensor of floating-point numbers with
any number of leading axes (none, a batch, a batch and heads, ...), then an axis of length `queries`
and one of length `d_k`. Axes of the same name in one adapter have the same length. The types are
checked on every call, so a wrong shape is reported here, at the door, and not ten lines further in.

Conventions, unless a docstring says otherwise:

* A mask is boolean, `True` where attention is allowed. It may have fewer leading axes than the
  scores, and then holds for all of them. No query has every key masked.
* Positions are integers. They need not be sorted, nor start at 0, and may have fewer leading axes
  than the input.
* Projections follow `torch.nn.Linear`: `y = x @ W.T`, without bias.
* Results have the dtype of the inputs and lie on their device. Gradients reach the inputs, which
  stay as they are.
* No Python loop goes over tokens or over the batch; one over heads is fine. Tests of *efficiency*
  count operations at two sizes.
"""

from beartype import BeartypeConf, beartype
from jaxtyping import Bool, Float, Int, jaxtyped
from torch import Tensor

from assignment import attention, positions, warmup

# An int is welcome where a float is asked for: theta=10000 is as good as theta=10000.0.
typed = jaxtyped(typechecker=beartype(conf=BeartypeConf(is_pep484_tower=True)))

# --- Warm-up ------------------------------------------------------------------------------------


@typed
def run_softmax(in_features: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Softmax along one axis.

    in_features: any shape with at least one axis.
    dim: the axis along which the results sum to 1; negative ones count from the last.
    Returns the shape of `in_features`.
    """
    return warmup.softmax(in_features, dim)


@typed
def run_simple_self_attention(
    in_features: Float[Tensor, "... seq d"],
) -> Float[Tensor, "... seq d"]:
    """Self-attention without weights and without scaling.

    in_features: the tokens, `(..., seq, d)`; they are queries, keys and values at once.
    Returns one context vector per token, `(..., seq, d)`.
    """
    return warmup.simple_self_attention(in_features)


@typed
def run_self_attention(
    W_query: Float[Tensor, "d_in d_out"],
    W_key: Float[Tensor, "d_in d_out"],
    W_value: Float[Tensor, "d_in d_out"],
    in_features: Float[Tensor, "... seq d_in"],
) -> Float[Tensor, "... seq d_out"]:
    """Scaled self-attention with one weight matrix each for queries, keys and values.

    W_query, W_key, W_value: `(d_in, d_out)`; they multiply from the right, `x @ W`.
    in_features: `(..., seq, d_in)`. Every token attends to every token.
    Returns `(..., seq, d_out)`.
    """
    return warmup.self_attention(W_query, W_key, W_value, in_features)


@typed
def run_causal_mask(seq_len: int) -> Bool[Tensor, "seq seq"]:
    """The mask that lets each position see itself and the ones before it.

    seq_len: the number of positions.
    Returns a boolean `(seq, seq)`: row = query, column = key, `True` where attention is allowed.
    """
    return warmup.causal_mask(seq_len)


@typed
def run_attention_weights(
    Q: Float[Tensor, "... queries d_k"],
    K: Float[Tensor, "... keys d_k"],
    mask: Bool[Tensor, "... queries keys"] | None = None,
) -> Float[Tensor, "... queries keys"]:
    """The attention that each query pays to each key.

    Q: `(..., queries, d_k)`; K: `(..., keys, d_k)`, as many keys as you like.
    mask: boolean `(..., queries, keys)`, `True` where attention is allowed, or None for all.
    Returns `(..., queries, keys)`; each query's weights sum to 1.
    """
    return warmup.attention_weights(Q, K, mask)


@typed
def run_attention_dropout(
    weights: Float[Tensor, "..."], p: float, training: bool
) -> Float[Tensor, "..."]:
    """Inverted dropout on attention weights.

    weights: any shape.
    p: the probability, 0 <= p < 1, with which each weight is dropped on its own.
    training: whether anything is dropped at all.
    Returns the shape of `weights`.
    """
    return warmup.attention_dropout(weights, p, training)


# --- Attention ----------------------------------------------------------------------------------


@typed
def run_scaled_dot_product_attention(
    Q: Float[Tensor, "... queries d_k"],
    K: Float[Tensor, "... keys d_k"],
    V: Float[Tensor, "... keys d_v"],
    mask: Bool[Tensor, "... queries keys"] | None = None,
) -> Float[Tensor, "... queries d_v"]:
    """Scaled dot-product attention.

    Q: `(..., queries, d_k)`; K: `(..., keys, d_k)`; V: `(..., keys, d_v)`, one value per key.
    mask: boolean `(..., queries, keys)`, `True` where attention is allowed, or None for all.
    Returns `(..., queries, d_v)`.
    """
    return attention.scaled_dot_product_attention(Q, K, V, mask)


@typed
def run_causal_self_attention(
    W_query: Float[Tensor, "d_in d_out"],
    W_key: Float[Tensor, "d_in d_out"],
    W_value: Float[Tensor, "d_in d_out"],
    in_features: Float[Tensor, "... seq d_in"],
) -> Float[Tensor, "... seq d_out"]:
    """Scaled self-attention in which no token sees a later one.

    W_query, W_key, W_value: `(d_in, d_out)`; they multiply from the right, `x @ W`.
    in_features: `(..., seq, d_in)`.
    Returns `(..., seq, d_out)`.
    """
    return attention.causal_self_attention(W_query, W_key, W_value, in_features)


@typed
def run_multihead_attention_stacked(
    W_query: Float[Tensor, "heads d_in d_head"],
    W_key: Float[Tensor, "heads d_in d_head"],
    W_value: Float[Tensor, "heads d_in d_head"],
    in_features: Float[Tensor, "... seq d_in"],
) -> Float[Tensor, "... seq heads*d_head"]:
    """Several causal heads side by side, each with weights of its own.

    W_query, W_key, W_value: `(heads, d_in, d_head)`; head h multiplies by `W[h]` from the right,
    `x @ W[h]`.
    in_features: `(..., seq, d_in)`, the same for every head.
    Returns `(..., seq, heads * d_head)`: the outputs of head 0, then of head 1, and so on; there is
    no output projection.
    """
    return attention.multihead_attention_stacked(W_query, W_key, W_value, in_features)


@typed
def run_multihead_self_attention(
    d_model: int,
    num_heads: int,
    q_proj_weight: Float[Tensor, "d_model d_model"],
    k_proj_weight: Float[Tensor, "d_model d_model"],
    v_proj_weight: Float[Tensor, "d_model d_model"],
    o_proj_weight: Float[Tensor, "d_model d_model"],
    in_features: Float[Tensor, "... seq d_model"],
) -> Float[Tensor, "... seq d_model"]:
    """Causal multi-head self-attention with an output projection.

    d_model: number of features, a multiple of `num_heads`.
    q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight: `(d_model, d_model)`, as in
    `torch.nn.Linear`: `y = x @ W.T`. Rows `h * d_head` to `(h + 1) * d_head` of the first three
    belong to head h, where `d_head = d_model / num_heads`.
    in_features: `(..., seq, d_model)`.
    Returns `(..., seq, d_model)`.
    """
    return attention.multihead_self_attention(
        d_model,
        num_heads,
        q_proj_weight,
        k_proj_weight,
        v_proj_weight,
        o_proj_weight,
        in_features,
    )


@typed
def run_multihead_attention(
    d_model: int,
    num_heads: int,
    q_proj_weight: Float[Tensor, "d_model d_model"],
    k_proj_weight: Float[Tensor, "d_model d_model"],
    v_proj_weight: Float[Tensor, "d_model d_model"],
    o_proj_weight: Float[Tensor, "d_model d_model"],
    query: Float[Tensor, "... q d_model"],
    key: Float[Tensor, "... k d_model"],
    value: Float[Tensor, "... k d_model"],
    is_causal: bool,
) -> Float[Tensor, "... q d_model"]:
    """Multi-head attention from one sequence to another.

    d_model, num_heads and the four weights: as in `run_multihead_self_attention`.
    query: `(..., q, d_model)`; key, value: `(..., k, d_model)`, of any length k.
    is_causal: whether a query may see only the keys up to its own position; True only if q = k.
    Returns `(..., q, d_model)`.
    """
    return attention.multihead_attention(
        d_model,
        num_heads,
        q_proj_weight,
        k_proj_weight,
        v_proj_weight,
        o_proj_weight,
        query,
        key,
        value,
        is_causal,
    )


@typed
def run_parameter_count(d_in: int, d_out: int, qkv_bias: bool, out_bias: bool) -> int:
    """The number of parameters of a multi-head attention module.

    d_in: features of the input; d_out: features of queries, keys, values and output.
    qkv_bias: whether the projections to queries, keys and values have a bias each.
    out_bias: whether the output projection (d_out to d_out) has one.
    Returns the count as an int.
    """
    return attention.parameter_count(d_in, d_out, qkv_bias, out_bias)


# --- Positions ----------------------------------------------------------------------------------


@typed
def run_sinusoidal_positional_encoding(seq_len: int, d_model: int) -> Float[Tensor, "seq d_model"]:
    """The sinusoidal positional encoding of positions 0 to seq_len - 1.

    seq_len: the number of positions; d_model: the number of features, even.
    Returns `(seq, d_model)`: sines in the even features, cosines in the odd ones.
    """
    return positions.sinusoidal_positional_encoding(seq_len, d_model)


@typed
def run_rope(
    d_k: int,
    theta: float,
    max_seq_len: int,
    in_query_or_key: Float[Tensor, "... seq d_k"],
    token_positions: Int[Tensor, "... seq"],
) -> Float[Tensor, "... seq d_k"]:
    """Rotary position embedding of queries or keys.

    d_k: the number of features, even. The pairs (0, 1), (2, 3), ... are rotated.
    theta: the base of the frequencies.
    max_seq_len: every position is smaller than this.
    in_query_or_key: `(..., seq, d_k)`.
    token_positions: `(..., seq)`, the position of each vector; may have fewer leading axes.
    Returns `(..., seq, d_k)`.
    """
    return positions.rope(d_k, theta, max_seq_len, in_query_or_key, token_positions)


@typed
def run_multihead_self_attention_with_rope(
    d_model: int,
    num_heads: int,
    max_seq_len: int,
    theta: float,
    q_proj_weight: Float[Tensor, "d_model d_model"],
    k_proj_weight: Float[Tensor, "d_model d_model"],
    v_proj_weight: Float[Tensor, "d_model d_model"],
    o_proj_weight: Float[Tensor, "d_model d_model"],
    in_features: Float[Tensor, "... seq d_model"],
    token_positions: Int[Tensor, "... seq"] | None = None,
) -> Float[Tensor, "... seq d_model"]:
    """Causal multi-head self-attention with rotary position embedding.

    d_model, num_heads and the four weights: as in `run_multihead_self_attention`.
    max_seq_len, theta: as in `run_rope`, which acts on each head's `d_model / num_heads` features.
    in_features: `(..., seq, d_model)`.
    token_positions: `(..., seq)`, may have fewer leading axes; None stands for 0, 1, 2, ...
    What a token may see is a matter of the order in `in_features`, whatever the positions say.
    Returns `(..., seq, d_model)`.
    """
    return positions.multihead_self_attention_with_rope(
        d_model,
        num_heads,
        max_seq_len,
        theta,
        q_proj_weight,
        k_proj_weight,
        v_proj_weight,
        o_proj_weight,
        in_features,
        token_positions,
    )
