from cs336_basics.attention import (
    CausalMultiHeadSelfAttention,
    MultiHeadAttention,
    SelfAttention,
    count_parameters,
    simple_self_attention,
    stacked_attention,
)
from cs336_basics.layers import RotaryPositionalEmbedding, SinusoidalPositionalEncoding
from cs336_basics.nn_utils import (
    attention_probs,
    causal_mask,
    dropout,
    scaled_dot_product_attention,
    softmax,
)


def _load(attn, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight):
    attn.load_state_dict(
        {
            "q_proj.weight": q_proj_weight,
            "k_proj.weight": k_proj_weight,
            "v_proj.weight": v_proj_weight,
            "output_proj.weight": o_proj_weight,
        }
    )
    return attn


def run_softmax(in_features, dim):
    return softmax(in_features, dim)


def run_simple_self_attention(in_features):
    return simple_self_attention(in_features)


def run_self_attention(W_query, W_key, W_value, in_features):
    attn = SelfAttention(W_query, W_key, W_value)
    return attn(in_features)


def run_causal_mask(seq_len):
    return causal_mask(seq_len)


def run_attention_weights(Q, K, mask=None):
    return attention_probs(Q, K, mask)


def run_attention_dropout(weights, p, training):
    return dropout(weights, p, training)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return scaled_dot_product_attention(Q, K, V, mask)


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    attn = SelfAttention(W_query, W_key, W_value, causal=True)
    return attn(in_features)


def run_multihead_attention_stacked(W_query, W_key, W_value, in_features):
    return stacked_attention(W_query, W_key, W_value, in_features)


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    attn = CausalMultiHeadSelfAttention(
        d_model, num_heads, device=in_features.device, dtype=in_features.dtype
    )
    _load(attn, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return attn(in_features)


def run_multihead_attention(
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
):
    attn = MultiHeadAttention(d_model, num_heads, device=query.device, dtype=query.dtype)
    _load(attn, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    mask = causal_mask(query.shape[-2], query.device) if is_causal else None
    return attn(query, key, value, mask)


def run_parameter_count(d_in, d_out, qkv_bias, out_bias):
    return count_parameters(d_in, d_out, qkv_bias, out_bias)


def run_sinusoidal_positional_encoding(seq_len, d_model):
    return SinusoidalPositionalEncoding(d_model, max_seq_len=seq_len)(seq_len)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    rope = RotaryPositionalEmbedding(
        theta, d_k, max_seq_len, device=in_query_or_key.device, dtype=in_query_or_key.dtype
    )
    return rope(in_query_or_key, token_positions)


def run_multihead_self_attention_with_rope(
    d_model,
    num_heads,
    max_seq_len,
    theta,
    q_proj_weight,
    k_proj_weight,
    v_proj_weight,
    o_proj_weight,
    in_features,
    token_positions=None,
):
    device, dtype = in_features.device, in_features.dtype
    d_head = d_model // num_heads
    rope = RotaryPositionalEmbedding(theta, d_head, max_seq_len, device=device, dtype=dtype)
    attn = CausalMultiHeadSelfAttention(
        d_model, num_heads, rope=rope, device=device, dtype=dtype
    )
    _load(attn, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return attn(in_features, token_positions)
