from transformer.config import AttentionConfig, Weights
from transformer.core import apply_attention, apply_cross_attention, heads_side_by_side, single_head
from transformer.numerics import shares, visible
from transformer.rotation import rotate, wave_table
from transformer.scores import attention_shares, weighted_values


def run_softmax(in_features, dim):
    return shares(in_features, axis=dim)


def run_simple_self_attention(in_features):
    config = AttentionConfig(d_model=in_features.size(-1), num_heads=1, scaled=False)
    return weighted_values(config, in_features, in_features, in_features, allowed=None)


def run_self_attention(W_query, W_key, W_value, in_features):
    config = AttentionConfig(d_model=W_query.size(1), num_heads=1, causal=False)
    return single_head(config, Weights(W_query, W_key, W_value), in_features)


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    config = AttentionConfig(d_model=W_query.size(1), num_heads=1)
    return single_head(config, Weights(W_query, W_key, W_value), in_features)


def run_causal_mask(seq_len):
    return visible(seq_len)


def run_attention_weights(Q, K, mask=None):
    config = AttentionConfig(d_model=Q.size(-1), num_heads=1)
    return attention_shares(config, Q, K, mask)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    config = AttentionConfig(d_model=Q.size(-1), num_heads=1)
    return weighted_values(config, Q, K, V, mask)


def run_multihead_attention_stacked(W_query, W_key, W_value, in_features):
    heads, _, d_head = W_query.shape
    config = AttentionConfig(d_model=heads * d_head, num_heads=heads)
    return heads_side_by_side(config, Weights(W_query, W_key, W_value), in_features)


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    config = AttentionConfig(d_model, num_heads)
    weights = Weights(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return apply_attention(config, weights, in_features)


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
    config = AttentionConfig(d_model, num_heads, causal=is_causal)
    weights = Weights(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return apply_cross_attention(config, weights, query, key, value)


def run_sinusoidal_positional_encoding(seq_len, d_model):
    return wave_table(seq_len, d_model)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    config = AttentionConfig(d_model=d_k, num_heads=1, theta=theta, rotary=True)
    return rotate(config, in_query_or_key, token_positions)


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
    config = AttentionConfig(d_model, num_heads, theta=theta, rotary=True)
    weights = Weights(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return apply_attention(config, weights, in_features, token_positions)
