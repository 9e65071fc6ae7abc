"""Adapters between the tests and my modules in basics/."""

from jaxtyping import Bool, Float, Int
from torch import Tensor

from basics import functional as F
from basics.attention import (
    AttentionConfig,
    CausalMultiHeadSelfAttention,
    MultiHeadAttention,
    RotaryMultiHeadSelfAttention,
    SelfAttention,
    StackedHeads,
    count_parameters,
)
from basics.layers import Dropout
from basics.positional import SinusoidalEncoding, get_rope


def _like(x: Tensor) -> dict:
    """Build modules where the data is, and in its precision."""
    return {"device": x.device, "dtype": x.dtype}


def _proj_state(q: Tensor, k: Tensor, v: Tensor, o: Tensor) -> dict[str, Tensor]:
    return {
        "q_proj.weight": q,
        "k_proj.weight": k,
        "v_proj.weight": v,
        "output_proj.weight": o,
    }


def run_softmax(in_features: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    return F.softmax(in_features, dim=dim)


def run_simple_self_attention(
    in_features: Float[Tensor, "... seq d"],
) -> Float[Tensor, "... seq d"]:
    return F.simple_self_attention(in_features)


def run_self_attention(
    W_query: Float[Tensor, "d_in d_out"],
    W_key: Float[Tensor, "d_in d_out"],
    W_value: Float[Tensor, "d_in d_out"],
    in_features: Float[Tensor, "... seq d_in"],
) -> Float[Tensor, "... seq d_out"]:
    d_in, d_out = W_query.shape
    head = SelfAttention(d_in, d_out, **_like(in_features))
    # my Linear keeps (d_out, d_in), the tests give (d_in, d_out)
    head.load_state_dict(
        {
            "query.weight": W_query.T,
            "key.weight": W_key.T,
            "value.weight": W_value.T,
        }
    )
    return head(in_features)


def run_causal_mask(seq_len: int) -> Bool[Tensor, "seq seq"]:
    return F.causal_mask(seq_len)


def run_attention_weights(
    Q: Float[Tensor, "... queries d_k"],
    K: Float[Tensor, "... keys d_k"],
    mask: Bool[Tensor, "... queries keys"] | None = None,
) -> Float[Tensor, "... queries keys"]:
    return F.attention_weights(Q, K, mask)


def run_attention_dropout(
    weights: Float[Tensor, "..."], p: float, training: bool
) -> Float[Tensor, "..."]:
    layer = Dropout(p)
    layer.train(training)
    return layer(weights)


def run_scaled_dot_product_attention(
    Q: Float[Tensor, "... queries d_k"],
    K: Float[Tensor, "... keys d_k"],
    V: Float[Tensor, "... keys d_v"],
    mask: Bool[Tensor, "... queries keys"] | None = None,
) -> Float[Tensor, "... queries d_v"]:
    return F.scaled_dot_product_attention(Q, K, V, mask)


def run_causal_self_attention(
    W_query: Float[Tensor, "d_in d_out"],
    W_key: Float[Tensor, "d_in d_out"],
    W_value: Float[Tensor, "d_in d_out"],
    in_features: Float[Tensor, "... seq d_in"],
) -> Float[Tensor, "... seq d_out"]:
    d_in, d_out = W_query.shape
    causal_head = SelfAttention(d_in, d_out, causal=True, **_like(in_features))
    state = {"query.weight": W_query.T, "key.weight": W_key.T, "value.weight": W_value.T}
    causal_head.load_state_dict(state)
    return causal_head(in_features)


def run_multihead_attention_stacked(
    W_query: Float[Tensor, "heads d_in d_head"],
    W_key: Float[Tensor, "heads d_in d_head"],
    W_value: Float[Tensor, "heads d_in d_head"],
    in_features: Float[Tensor, "... seq d_in"],
) -> Float[Tensor, "... seq heads*d_head"]:
    num_heads, d_in, d_head = W_query.shape
    heads = StackedHeads(num_heads, d_in, d_head, **_like(in_features))
    heads.load_state_dict({"W_query": W_query, "W_key": W_key, "W_value": W_value})
    return heads(in_features)


def run_multihead_self_attention(
    d_model: int,
    num_heads: int,
    q_proj_weight: Float[Tensor, "d_model d_model"],
    k_proj_weight: Float[Tensor, "d_model d_model"],
    v_proj_weight: Float[Tensor, "d_model d_model"],
    o_proj_weight: Float[Tensor, "d_model d_model"],
    in_features: Float[Tensor, "... seq d_model"],
) -> Float[Tensor, "... seq d_model"]:
    config = AttentionConfig(d_model, d_model, num_heads)
    mhsa = CausalMultiHeadSelfAttention(config, **_like(in_features))
    mhsa.load_state_dict(_proj_state(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight))
    return mhsa(in_features)


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
    mha = MultiHeadAttention(AttentionConfig(d_model, d_model, num_heads), **_like(query))
    mha.load_state_dict(_proj_state(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight))
    return mha(query, key, value, is_causal=is_causal)


def run_parameter_count(d_in: int, d_out: int, qkv_bias: bool, out_bias: bool) -> int:
    config = AttentionConfig(d_in, d_out, qkv_bias=qkv_bias, out_bias=out_bias)
    # the meta device has shapes but no memory
    return count_parameters(MultiHeadAttention(config, device="meta"))


def run_sinusoidal_positional_encoding(seq_len: int, d_model: int) -> Float[Tensor, "seq d_model"]:
    encoding = SinusoidalEncoding(d_model, max_len=seq_len)
    return encoding(seq_len)


def run_rope(
    d_k: int,
    theta: float,
    max_seq_len: int,
    in_query_or_key: Float[Tensor, "... seq d_k"],
    token_positions: Int[Tensor, "... seq"],
) -> Float[Tensor, "... seq d_k"]:
    rope = get_rope(theta, d_k, max_seq_len, device=in_query_or_key.device)
    return rope(in_query_or_key, token_positions)


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
    config = AttentionConfig(
        d_in=d_model, d_out=d_model, num_heads=num_heads, theta=theta, max_seq_len=max_seq_len
    )
    layer = RotaryMultiHeadSelfAttention(config, **_like(in_features))
    layer.load_state_dict(_proj_state(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight))
    return layer(in_features, token_positions)
