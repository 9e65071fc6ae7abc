# Deep Learning, Homework 3: Attention
# everything is in this one file so that it's easier to hand in

import math

import torch


# ---------- Problem 1: softmax and attention weights ----------


def run_softmax(in_features, dim):
    # subtract the max first so that exp does not overflow (lecture 9, slide 14)
    max_values = torch.max(in_features, dim=dim, keepdim=True).values
    shifted = in_features - max_values
    exp_x = torch.exp(shifted)
    sum_exp = torch.sum(exp_x, dim=dim, keepdim=True)
    result = exp_x / sum_exp
    return result


def run_simple_self_attention(in_features):
    # the tokens are queries, keys and values at the same time
    similarity = torch.matmul(in_features, in_features.transpose(-2, -1))
    alpha = run_softmax(similarity, dim=-1)
    result = torch.matmul(alpha, in_features)
    return result


def run_causal_mask(seq_len):
    # row = query, column = key. A token can only look at itself and the past
    ones = torch.ones(seq_len, seq_len)
    lower_triangle = torch.tril(ones)
    mask = lower_triangle == 1
    return mask


def run_attention_weights(Q, K, mask=None):
    # A = softmax(Q K^T / sqrt(d_k))
    d_k = Q.shape[-1]
    K_T = K.transpose(-2, -1)
    scores = torch.matmul(Q, K_T)  # (..., queries, keys)
    scaled_scores = scores / math.sqrt(d_k)
    if mask is not None:
        # -inf becomes 0 after the softmax
        scaled_scores = scaled_scores.masked_fill(mask == False, float("-inf"))
    attn_weights = run_softmax(scaled_scores, dim=-1)
    return attn_weights


# ---------- Problem 2: attention ----------


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    attn_weights = run_attention_weights(Q, K, mask)
    context = torch.matmul(attn_weights, V)  # weighted average of the values
    return context


def run_self_attention(W_query, W_key, W_value, in_features):
    queries = torch.matmul(in_features, W_query)
    keys = torch.matmul(in_features, W_key)
    values = torch.matmul(in_features, W_value)
    context = run_scaled_dot_product_attention(queries, keys, values)
    return context


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    # same as above but with the mask from problem 1
    seq_len = in_features.shape[-2]
    causal_mask = run_causal_mask(seq_len).to(in_features.device)
    q = in_features @ W_query
    k = in_features @ W_key
    v = in_features @ W_value
    out = run_scaled_dot_product_attention(q, k, v, causal_mask)
    return out


def run_multihead_attention_stacked(W_query, W_key, W_value, in_features):
    # run every head by itself and put the results next to each other
    num_heads = W_query.shape[0]
    head_outputs = []
    for h in range(num_heads):
        Wq, Wk, Wv = W_query[h], W_key[h], W_value[h]
        head = run_causal_self_attention(Wq, Wk, Wv, in_features)
        head_outputs.append(head)
    concatenated = torch.cat(head_outputs, dim=-1)
    return concatenated


# ---------- Problem 3: multi-head attention ----------


def split_heads(x, num_heads):
    # (..., seq, d_model) -> (..., num_heads, seq, d_head)
    d_model = x.shape[-1]
    d_head = d_model // num_heads
    new_shape = x.shape[:-1] + (num_heads, d_head)
    x = x.reshape(new_shape)
    heads_first = x.transpose(-3, -2)
    return heads_first


def merge_heads(x):
    # (..., num_heads, seq, d_head) -> (..., seq, d_model)
    seq_first = x.transpose(-3, -2)
    d_model = seq_first.shape[-2] * seq_first.shape[-1]
    merged = seq_first.reshape(seq_first.shape[:-2] + (d_model,))
    return merged


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    # step 1: project. nn.Linear computes x W^T
    Q = in_features @ q_proj_weight.T
    K = in_features @ k_proj_weight.T
    V = in_features @ v_proj_weight.T

    # step 2: split into heads
    Q_heads = split_heads(Q, num_heads)
    K_heads = split_heads(K, num_heads)
    V_heads = split_heads(V, num_heads)

    # step 3: causal attention in every head
    seq_len = in_features.shape[-2]
    mask = run_causal_mask(seq_len).to(in_features.device)
    attn_out = run_scaled_dot_product_attention(Q_heads, K_heads, V_heads, mask)

    # step 4: concat heads and do the output projection
    concat = merge_heads(attn_out)
    output = concat @ o_proj_weight.T
    return output


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
    # the queries come from the decoder, keys and values from the encoder
    Q = split_heads(query @ q_proj_weight.T, num_heads)
    K = split_heads(key @ k_proj_weight.T, num_heads)
    V = split_heads(value @ v_proj_weight.T, num_heads)

    mask = None
    if is_causal:
        mask = run_causal_mask(query.shape[-2]).to(query.device)

    context = run_scaled_dot_product_attention(Q, K, V, mask)
    context = merge_heads(context)
    return context @ o_proj_weight.T


# ---------- Problem 4: positions ----------


def run_sinusoidal_positional_encoding(seq_len, d_model):
    # PE(pos, 2i) = sin(pos / 10000^(2i/d)), PE(pos, 2i+1) = cos(same)
    pos = torch.arange(seq_len).float().unsqueeze(1)
    two_i = torch.arange(0, d_model, 2).float()
    denominator = 10000.0 ** (two_i / d_model)
    pe = torch.zeros(seq_len, d_model)
    pe[:, 0::2] = torch.sin(pos / denominator)
    pe[:, 1::2] = torch.cos(pos / denominator)
    return pe


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    x = in_query_or_key

    # one frequency per pair: theta^(-2k/d)
    two_k = torch.arange(0, d_k, 2, device=x.device).float()
    freqs = 1.0 / (theta ** (two_k / d_k))  # (d_k/2,)

    # angle table for every position that can happen
    all_positions = torch.arange(max_seq_len, device=x.device).float()
    angles = torch.outer(all_positions, freqs)  # (max_seq_len, d_k/2)
    cos = torch.cos(angles)[token_positions]
    sin = torch.sin(angles)[token_positions]

    # the pairs are (0,1), (2,3), ...
    x_even = x[..., 0::2]
    x_odd = x[..., 1::2]

    # 2x2 rotation matrix from the lecture
    new_even = x_even * cos - x_odd * sin
    new_odd = x_even * sin + x_odd * cos

    rotated = torch.zeros_like(x)
    rotated[..., 0::2] = new_even
    rotated[..., 1::2] = new_odd
    return rotated


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
    seq_len = in_features.shape[-2]
    d_head = d_model // num_heads

    # if no positions are given just count 0, 1, 2, ...
    if token_positions is None:
        token_positions = torch.arange(seq_len, device=in_features.device)
    # all heads have the same positions -> add an axis for the heads
    head_positions = token_positions.unsqueeze(-2)

    # project + split
    q_heads = split_heads(in_features @ q_proj_weight.T, num_heads)
    k_heads = split_heads(in_features @ k_proj_weight.T, num_heads)
    v_heads = split_heads(in_features @ v_proj_weight.T, num_heads)

    # rotate queries and keys (not the values!)
    q_rot = run_rope(d_head, theta, max_seq_len, q_heads, head_positions)
    k_rot = run_rope(d_head, theta, max_seq_len, k_heads, head_positions)

    mask = run_causal_mask(seq_len).to(in_features.device)
    head_out = run_scaled_dot_product_attention(q_rot, k_rot, v_heads, mask)
    final = merge_heads(head_out) @ o_proj_weight.T
    return final
