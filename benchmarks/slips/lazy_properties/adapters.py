import torch

from attention import Attention, MultiHead, Softmax, StackedHeads, causal_mask
from positions import SineWaves, Turned


def run_softmax(in_features, dim):
    return Softmax(in_features, dim).shares


def run_simple_self_attention(in_features):
    return Attention(in_features, in_features, in_features, temperature=1.0).result


def run_self_attention(W_query, W_key, W_value, in_features):
    q, k, v = (in_features @ w for w in (W_query, W_key, W_value))
    return Attention(q, k, v).result


def run_causal_mask(seq_len):
    return causal_mask(seq_len)


def run_attention_weights(Q, K, mask=None):
    return Attention(Q, K, mask=mask).weights


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return Attention(Q, K, V, mask=mask).result


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    q, k, v = (in_features @ w for w in (W_query, W_key, W_value))
    return Attention(q, k, v, mask=causal_mask(in_features.size(-2), in_features.device)).result


def run_multihead_attention_stacked(W_query, W_key, W_value, in_features):
    return StackedHeads(in_features, W_query, W_key, W_value).result


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    return MultiHead(
        inputs=(in_features, in_features, in_features),
        weights=(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight),
        heads=num_heads,
    ).result


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
    return MultiHead(
        inputs=(query, key, value),
        weights=(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight),
        heads=num_heads,
        is_causal=is_causal,
    ).result


def run_sinusoidal_positional_encoding(seq_len, d_model):
    return SineWaves(torch.arange(seq_len), d_model).encoding


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return Turned(in_query_or_key, SineWaves(token_positions, d_k, theta)).result


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
    if token_positions is None:
        token_positions = torch.arange(in_features.size(-2), device=in_features.device)
    waves = SineWaves(token_positions, d_model // num_heads, theta)
    return MultiHead(
        inputs=(in_features, in_features, in_features),
        weights=(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight),
        heads=num_heads,
        waves=waves.for_all_heads(),
    ).result
