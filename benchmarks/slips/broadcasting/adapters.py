import solution
import torch


def run_softmax(in_features, dim):
    return solution.softmax(in_features, dim)


def run_simple_self_attention(in_features):
    return solution.attend(in_features, in_features, in_features, scale=1.0)


def run_self_attention(W_query, W_key, W_value, in_features):
    x = in_features
    return solution.attend(x @ W_query, x @ W_key, x @ W_value)


def run_causal_mask(seq_len):
    return solution.keep(seq_len, seq_len)


def run_attention_weights(Q, K, mask=None):
    return solution.attention_weights(Q, K, mask)


def run_attention_dropout(weights, p, training):
    if training:
        return solution.dropout(weights, p)
    return weights


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return solution.attend(Q, K, V, mask)


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    x = in_features
    return solution.attend(x @ W_query, x @ W_key, x @ W_value, causal=True)


def run_multihead_attention_stacked(W_query, W_key, W_value, in_features):
    return solution.stacked(W_query, W_key, W_value, in_features)


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    x, weights = in_features, (q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return solution.multihead(num_heads, weights, x, x, x, causal=True)


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
    weights = (q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return solution.multihead(num_heads, weights, query, key, value, is_causal)


def run_sinusoidal_positional_encoding(seq_len, d_model):
    return solution.sinusoids(seq_len, d_model)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return solution.rope(in_query_or_key, token_positions, theta)


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
    x, weights = in_features, (q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    if token_positions is None:
        token_positions = torch.arange(x.shape[-2], device=x.device)
    for_all_heads = token_positions[..., None, :]
    turn = theta, for_all_heads
    return solution.multihead(num_heads, weights, x, x, x, True, turn)
