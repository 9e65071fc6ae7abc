import attention as attn
from einops import einsum
from jaxtyping import Bool, Float, Int
from rope import apply_rope
from torch import Tensor


def run_softmax(in_features: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    return attn.softmax(in_features, dim)


def run_simple_self_attention(in_features: Float[Tensor, "... s d"]) -> Float[Tensor, "... s d"]:
    scores = einsum(in_features, in_features, "... q d, ... k d -> ... q k")
    return einsum(attn.softmax(scores), in_features, "... q k, ... k d -> ... q d")


def run_self_attention(W_query, W_key, W_value, in_features) -> Float[Tensor, "... s o"]:
    return attn.self_attention(in_features, W_query, W_key, W_value, causal=False)


def run_causal_mask(seq_len: int) -> Bool[Tensor, "q k"]:
    return attn.causal_mask(seq_len)


def run_attention_weights(Q, K, mask=None) -> Float[Tensor, "... q k"]:
    return attn.attention_weights(Q, K, mask)


def run_scaled_dot_product_attention(Q, K, V, mask=None) -> Float[Tensor, "... q v"]:
    return attn.attend(Q, K, V, mask)


def run_causal_self_attention(W_query, W_key, W_value, in_features) -> Float[Tensor, "... s o"]:
    return attn.self_attention(in_features, W_query, W_key, W_value, causal=True)


def run_multihead_attention_stacked(
    W_query: Float[Tensor, "h i d"],
    W_key: Float[Tensor, "h i d"],
    W_value: Float[Tensor, "h i d"],
    in_features: Float[Tensor, "... s i"],
) -> Float[Tensor, "... s hd"]:
    return attn.stacked_heads(in_features, W_query, W_key, W_value)


def run_multihead_self_attention(
    d_model: int,
    num_heads: int,
    q_proj_weight: Float[Tensor, "o i"],
    k_proj_weight: Float[Tensor, "o i"],
    v_proj_weight: Float[Tensor, "o i"],
    o_proj_weight: Float[Tensor, "o i"],
    in_features: Float[Tensor, "... s i"],
) -> Float[Tensor, "... s o"]:
    x = in_features
    weights = (q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return attn.multihead(x, x, x, weights, num_heads)


def run_multihead_attention(
    d_model: int,
    num_heads: int,
    q_proj_weight: Float[Tensor, "o i"],
    k_proj_weight: Float[Tensor, "o i"],
    v_proj_weight: Float[Tensor, "o i"],
    o_proj_weight: Float[Tensor, "o i"],
    query: Float[Tensor, "... q i"],
    key: Float[Tensor, "... k i"],
    value: Float[Tensor, "... k i"],
    is_causal: bool,
) -> Float[Tensor, "... q o"]:
    weights = (q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return attn.multihead(query, key, value, weights, num_heads, causal=is_causal)


def run_rope(
    d_k: int,
    theta: float,
    max_seq_len: int,
    in_query_or_key: Float[Tensor, "... s d"],
    token_positions: Int[Tensor, "... s"],
) -> Float[Tensor, "... s d"]:
    return apply_rope(in_query_or_key, token_positions, theta)


def run_multihead_self_attention_with_rope(
    d_model: int,
    num_heads: int,
    max_seq_len: int,
    theta: float,
    q_proj_weight: Float[Tensor, "o i"],
    k_proj_weight: Float[Tensor, "o i"],
    v_proj_weight: Float[Tensor, "o i"],
    o_proj_weight: Float[Tensor, "o i"],
    in_features: Float[Tensor, "... s i"],
    token_positions: Int[Tensor, "... s"] | None = None,
) -> Float[Tensor, "... s o"]:
    return attn.multihead_with_rope(
        in_features,
        (q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight),
        num_heads,
        theta,
        token_positions,
    )
