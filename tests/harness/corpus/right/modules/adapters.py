import torch
from torch import nn

from layers import (
    CausalMask,
    MultiHeadAttention,
    RotaryEmbedding,
    ScaledDotProductAttention,
    SelfAttention,
    Softmax,
    StackedHeads,
    sinusoids,
)


def run_softmax(in_features, dim):
    return Softmax(dim)(in_features)


def run_simple_self_attention(in_features):
    scores = torch.bmm(*_as_batch(in_features, in_features.mT))
    weights = Softmax(-1)(scores.view(*in_features.shape[:-1], in_features.shape[-2]))
    return weights @ in_features


def _as_batch(*tensors):
    return [t.reshape(-1, *t.shape[-2:]) for t in tensors]


def run_self_attention(W_query, W_key, W_value, in_features):
    layer = SelfAttention(*W_query.shape).to(in_features)
    layer.load_weights(W_query, W_key, W_value)
    return layer(in_features)


def run_causal_mask(seq_len):
    return CausalMask(seq_len)()


def run_attention_weights(Q, K, mask=None):
    return ScaledDotProductAttention(Q.size(-1)).weights(Q, K, mask)


def run_attention_dropout(weights, p, training):
    layer = nn.Dropout(p)
    layer.train(training)
    return layer(weights)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return ScaledDotProductAttention(Q.size(-1))(Q, K, V, mask)


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    layer = SelfAttention(*W_query.shape, context_length=in_features.size(-2)).to(in_features)
    layer.load_weights(W_query, W_key, W_value)
    return layer(in_features)


def run_multihead_attention_stacked(W_query, W_key, W_value, in_features):
    num_heads, d_in, d_head = W_query.shape
    layer = StackedHeads(num_heads, d_in, d_head, in_features.size(-2)).to(in_features)
    layer.load_weights(W_query, W_key, W_value)
    return layer(in_features)


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    layer = MultiHeadAttention(d_model, num_heads).to(in_features)
    layer.load_weights(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return layer(in_features, in_features, in_features, causal=True)


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
    layer = MultiHeadAttention(d_model, num_heads).to(query)
    layer.load_weights(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return layer(query, key, value, causal=is_causal)


def run_sinusoidal_positional_encoding(seq_len, d_model):
    return sinusoids(seq_len, d_model)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    rope = RotaryEmbedding(d_k, theta, max_seq_len).to(in_query_or_key.device)
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
    rope = RotaryEmbedding(d_model // num_heads, theta, max_seq_len)
    layer = MultiHeadAttention(d_model, num_heads, rope).to(in_features.device)
    layer.load_weights(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    if token_positions is None:
        token_positions = torch.arange(in_features.size(-2), device=in_features.device)
    return layer(in_features, in_features, in_features, causal=True, positions=token_positions)


def run_parameter_count(d_in, d_out, qkv_bias, out_bias):
    with torch.device("meta"):
        projections = nn.ModuleList(nn.Linear(d_in, d_out, bias=qkv_bias) for _ in range(3))
        projections.append(nn.Linear(d_out, d_out, bias=out_bias))
    return sum(p.numel() for p in projections.parameters())
