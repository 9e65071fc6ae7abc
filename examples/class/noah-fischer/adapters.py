import torch

import mha


def run_softmax(in_features, dim):
    e = (in_features - in_features.amax(dim, True)).exp()
    return e / e.sum(dim, True)


def run_simple_self_attention(in_features):
    return run_softmax(in_features @ in_features.transpose(-2, -1), -1) @ in_features


def run_self_attention(W_query, W_key, W_value, in_features):
    return mha.attention(in_features @ W_query, in_features @ W_key, in_features @ W_value)


def run_causal_mask(seq_len):
    return mha.causal(seq_len)


def run_attention_weights(Q, K, mask=None):
    return mha.attention_weights(Q, K, mask)


def run_attention_dropout(weights, p, training):
    if not training:
        return weights.clone()
    if p >= 1:
        return torch.zeros_like(weights)
    keep = torch.full_like(weights, 1 - p).bernoulli()
    return weights * keep / (1 - p)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return mha.attention(Q, K, V, mask)


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    mask = mha.causal(in_features.shape[-2], in_features.device)
    return mha.attention(in_features @ W_query, in_features @ W_key, in_features @ W_value, mask)


def run_multihead_attention_stacked(W_query, W_key, W_value, in_features):
    x = in_features.unsqueeze(-3)
    mask = mha.causal(in_features.shape[-2], in_features.device)
    return mha.join(mha.attention(x @ W_query, x @ W_key, x @ W_value, mask))


def run_multihead_self_attention(d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight,
                                 o_proj_weight, in_features):
    return mha.multihead(num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight,
                         in_features)


def run_multihead_attention(d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight,
                            o_proj_weight, query, key, value, is_causal):
    return mha.cross_multihead(num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight,
                               query, key, value, is_causal)


def run_sinusoidal_positional_encoding(seq_len, d_model):
    return mha.sinusoidal(seq_len, d_model)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return mha.rope(in_query_or_key, token_positions, theta)


def run_multihead_self_attention_with_rope(d_model, num_heads, max_seq_len, theta, q_proj_weight,
                                           k_proj_weight, v_proj_weight, o_proj_weight, in_features,
                                           token_positions=None):
    if token_positions is None:
        token_positions = torch.arange(in_features.shape[-2], device=in_features.device)
    token_positions = token_positions.unsqueeze(-2)
    return mha.multihead(num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight,
                         in_features, rotate=lambda x: mha.rope(x, token_positions, theta))


def run_parameter_count(d_in, d_out, qkv_bias, out_bias):
    count = 0
    count += 3 * d_in * d_out
    count += 3 * d_out if qkv_bias else 0
    count += d_out * d_out
    count += d_out if out_bias else 0
    return count
