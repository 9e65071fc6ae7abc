import math

import torch

import model
from model import CausalSelfAttention, GPTConfig, Head


def fold(t):
    # (..., T, C) -> (B, T, C)
    return t.reshape(-1, *t.shape[-2:])


def run_softmax(in_features, dim):
    return model.softmax(in_features, dim)


def run_self_attention(W_query, W_key, W_value, in_features):
    head = Head(wk=W_key, wq=W_query, wv=W_value)
    return head(in_features)


def run_causal_mask(seq_len):
    return torch.tril(torch.ones(seq_len, seq_len)) == 1


def run_attention_weights(Q, K, mask=None):
    att = (Q @ K.transpose(-2, -1)) * (1.0 / math.sqrt(K.size(-1)))
    if mask is not None:
        att = att.masked_fill(~mask, float('-inf'))
    return model.softmax(att)


def run_attention_dropout(weights, p, training):
    if not training or p == 0.0:
        return weights
    mask = torch.rand(weights.shape, device=weights.device) >= p
    return weights.masked_fill(~mask, 0.0) / (1.0 - p)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    att = run_attention_weights(Q, K, mask)
    return att @ V


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    head = Head(wk=W_key, wq=W_query, wv=W_value, block_size=in_features.shape[-2])
    return head(in_features)


def run_multihead_attention_stacked(W_query, W_key, W_value, in_features):
    block_size = in_features.shape[-2]
    heads = [Head(W_key[h], W_query[h], W_value[h], block_size) for h in range(W_query.shape[0])]
    return torch.cat([h(in_features) for h in heads], dim=-1)


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    x = fold(in_features)
    config = GPTConfig(block_size=x.size(1), n_head=num_heads, n_embd=d_model)
    attn = CausalSelfAttention(config)
    attn.load(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return attn(x).view(in_features.shape)


def run_multihead_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, query, key, value, is_causal
):
    hs = d_model // num_heads
    q = fold(query) @ q_proj_weight.t()
    k = fold(key) @ k_proj_weight.t()
    v = fold(value) @ v_proj_weight.t()
    B, T, C = q.shape
    S = k.size(1)
    q = q.view(B, T, num_heads, hs).transpose(1, 2)
    k = k.view(B, S, num_heads, hs).transpose(1, 2)
    v = v.view(B, S, num_heads, hs).transpose(1, 2)
    mask = torch.ones(T, S).tril() == 1 if is_causal else None
    y = run_scaled_dot_product_attention(q, k, v, mask)
    y = y.transpose(1, 2).reshape(B, T, C)
    y = y @ o_proj_weight.t()
    return y.view(query.shape)


def run_parameter_count(d_in, d_out, qkv_bias, out_bias):
    return model.get_num_params(d_in, d_out, qkv_bias, out_bias)


def run_sinusoidal_positional_encoding(seq_len, d_model):
    return model.sinusoids(seq_len, d_model)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    cos, sin = model.precompute_freqs_cis(d_k, max_seq_len, theta)
    cos, sin = cos[token_positions], sin[token_positions]
    x = in_query_or_key.contiguous()
    return model.apply_rotary_emb(x, cos.to(x.dtype), sin.to(x.dtype))


def run_multihead_self_attention_with_rope(
    d_model, num_heads, max_seq_len, theta,
    q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features, token_positions=None,
):
    x = fold(in_features)
    config = GPTConfig(
        block_size=max_seq_len,
        n_head=num_heads,
        n_embd=d_model,
        rope=True,
        rope_theta=theta,
    )
    attn = CausalSelfAttention(config)
    attn.load(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    pos = None
    if token_positions is not None:
        pos = token_positions.expand(in_features.shape[:-1]).reshape(-1, x.size(1))
    return attn(x, pos).view(in_features.shape)
