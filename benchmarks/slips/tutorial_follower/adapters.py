"""The adapters: they build the modules, load the weights and call them."""

import torch

from annotated import (
    MultiHeadAttentionWrapper,
    MultiHeadedAttention,
    AttentionHead,
    RotaryPositionalEmbedding,
    attention,
    softmax,
    subsequent_mask,
)


def to_batch(x):
    "The modules want exactly one batch dimension: (..., seq, d) -> (batch, seq, d)."
    return x.reshape(-1, x.size(-2), x.size(-1))


def run_softmax(in_features, dim):
    return softmax(in_features, dim)


def run_causal_mask(seq_len):
    return subsequent_mask(seq_len).squeeze(0)


def run_attention_weights(Q, K, mask=None):
    _, p_attn = attention(Q, K, mask=mask)
    return p_attn


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    out, _ = attention(Q, K, V, mask=mask)
    return out


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    head = AttentionHead(W_query, W_key, W_value)
    return head(in_features)


def run_multihead_attention_stacked(W_query, W_key, W_value, in_features):
    layer = MultiHeadAttentionWrapper(W_query, W_key, W_value)
    return layer(in_features)


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    layer = MultiHeadedAttention(num_heads, d_model)
    layer.load(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    x = to_batch(in_features)
    mask = subsequent_mask(x.size(1)).to(x.device)
    out = layer(x, x, x, mask=mask)
    return out.view(in_features.shape)


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
    layer = MultiHeadedAttention(num_heads, d_model)
    layer.load(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    tgt_mask = None
    if is_causal:
        tgt_mask = subsequent_mask(query.size(-2)).to(query.device)
    out = layer(to_batch(query), to_batch(key), to_batch(value), mask=tgt_mask)
    return out.view(query.shape)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    rope = RotaryPositionalEmbedding(d_k, max_seq_len, base=theta)
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
    seq_len = in_features.size(-2)
    if token_positions is None:
        token_positions = torch.arange(seq_len, device=in_features.device)
    rope = RotaryPositionalEmbedding(d_model // num_heads, max_seq_len, base=theta)
    layer = MultiHeadedAttention(num_heads, d_model, rotary=rope)
    layer.load(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    x = to_batch(in_features)
    pos = token_positions.expand(in_features.shape[:-1]).reshape(-1, seq_len)
    causal = subsequent_mask(seq_len).to(x.device)
    attended = layer(x, x, x, mask=causal, positions=pos)
    return attended.view(in_features.shape)
