import torch

from assignment.heads import attend, one_by_one, weights_of
from assignment.positions import Rope, sinusoidal
from assignment.warmup import causal_mask, dropout, softmax


def run_softmax(in_features, dim):
    return softmax(in_features, dim)


def run_simple_self_attention(in_features):
    scores = torch.matmul(in_features, in_features.transpose(-1, -2))
    return torch.matmul(softmax(scores, -1), in_features)


def run_self_attention(W_query, W_key, W_value, in_features):
    q = torch.matmul(in_features, W_query)
    k = torch.matmul(in_features, W_key)
    v = torch.matmul(in_features, W_value)
    return attend(q, k, v)


def run_causal_mask(seq_len):
    return causal_mask(seq_len)


def run_attention_weights(Q, K, mask=None):
    return weights_of(Q, K, mask)


def run_attention_dropout(weights, p, training):
    return dropout(weights, p, training)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return attend(Q, K, V, mask)


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    q = torch.matmul(in_features, W_query)
    k = torch.matmul(in_features, W_key)
    v = torch.matmul(in_features, W_value)
    return attend(q, k, v, causal_mask(in_features.size(-2), in_features.device))


def run_multihead_attention_stacked(W_query, W_key, W_value, in_features):
    heads = [
        run_causal_self_attention(W_query[h], W_key[h], W_value[h], in_features)
        for h in range(W_query.size(0))
    ]
    return torch.cat(heads, dim=-1)


def run_multihead_self_attention(d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight,
                                 o_proj_weight, in_features):
    return one_by_one(num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight,
                      in_features, in_features, in_features, causal=True)


def run_multihead_attention(d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight,
                            o_proj_weight, query, key, value, is_causal):
    return one_by_one(num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight,
                      query, key, value, causal=is_causal)


def run_sinusoidal_positional_encoding(seq_len, d_model):
    return sinusoidal(seq_len, d_model)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return Rope(d_k, theta, in_query_or_key.device)(in_query_or_key, token_positions)


def run_multihead_self_attention_with_rope(d_model, num_heads, max_seq_len, theta, q_proj_weight,
                                           k_proj_weight, v_proj_weight, o_proj_weight, in_features,
                                           token_positions=None):
    if token_positions is None:
        token_positions = torch.arange(in_features.size(-2), device=in_features.device)
    rope = Rope(d_model // num_heads, theta, in_features.device)
    return one_by_one(num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight,
                      in_features, in_features, in_features, causal=True,
                      rotate=lambda t: rope(t, token_positions))


def run_parameter_count(d_in, d_out, qkv_bias, out_bias):
    total = 0
    for _ in "qkv":
        total += d_in * d_out
        if qkv_bias:
            total += d_out
    total += d_out * d_out
    if out_bias:
        total += d_out
    return total
