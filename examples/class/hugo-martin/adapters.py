import torch

import attention as att


def run_softmax(in_features, dim):
    return att.softmax(in_features, dim)


def run_simple_self_attention(in_features):
    scores = in_features @ in_features.transpose(1, 2)
    return torch.softmax(scores, dim=2) @ in_features


def run_self_attention(W_query, W_key, W_value, in_features):
    return att.attention(in_features @ W_query, in_features @ W_key, in_features @ W_value)


def run_causal_mask(seq_len):
    return torch.tril(torch.ones(seq_len, seq_len)).bool()


def run_attention_weights(Q, K, mask=None):
    return att.attention_weights(Q, K, mask)


def run_attention_dropout(weights, p, training):
    return torch.nn.functional.dropout(weights, p, training)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return att.attention(Q, K, V, mask)


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    batch, seq, d_in = in_features.shape
    mask = torch.tril(torch.ones(seq, seq, device=in_features.device))
    return att.attention(in_features @ W_query, in_features @ W_key, in_features @ W_value, mask)


def run_multihead_attention_stacked(W_query, W_key, W_value, in_features):
    heads = []
    for wq, wk, wv in zip(W_query, W_key, W_value):
        heads.append(run_causal_self_attention(wq, wk, wv, in_features))
    return torch.cat(heads, dim=2)


def run_multihead_self_attention(d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight,
                                 o_proj_weight, in_features):
    mha = att.MultiHead(num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return mha(in_features, in_features, in_features, causal=True)


def run_multihead_attention(d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight,
                            o_proj_weight, query, key, value, is_causal):
    mha = att.MultiHead(num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return mha(query, key, value, causal=is_causal)


def run_sinusoidal_positional_encoding(seq_len, d_model):
    pos = torch.arange(seq_len).float().unsqueeze(1)
    i = torch.arange(d_model)
    angle = pos / torch.pow(10000.0, (i - i % 2) / d_model)
    return torch.where(i % 2 == 0, torch.sin(angle), torch.cos(angle))


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return att.rope(in_query_or_key, token_positions, theta)


def run_multihead_self_attention_with_rope(d_model, num_heads, max_seq_len, theta, q_proj_weight,
                                           k_proj_weight, v_proj_weight, o_proj_weight, in_features,
                                           token_positions=None):
    batch, seq, _ = in_features.shape
    if token_positions is None:
        token_positions = torch.arange(seq, device=in_features.device)
    if token_positions.dim() == 1:
        token_positions = token_positions.unsqueeze(0)
    pos = token_positions.unsqueeze(1)  # (batch, 1, seq)
    mha = att.MultiHead(num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return mha(in_features, in_features, in_features, causal=True,
               rope=lambda x: att.rope(x, pos, theta))


def run_parameter_count(d_in, d_out, qkv_bias, out_bias):
    return 3 * (d_in * d_out + qkv_bias * d_out) + d_out * d_out + out_bias * d_out
