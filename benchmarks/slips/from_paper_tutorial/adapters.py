import torch

import transformer as T
from transformer import (
    MultiHeadAttention,
    PositionalEncoding,
    RotaryPositionalEmbedding,
    SelfAttention,
    attention,
    subsequent_mask,
)


def load_weights(mha, q, k, v, o):
    # overwrite the random init with the weights of the test
    mha.W_q.weight.data = q
    mha.W_k.weight.data = k
    mha.W_v.weight.data = v
    mha.W_o.weight.data = o
    return mha.eval()


def to_3d(x):
    # the module wants (batch, seq, d_model)
    return x.reshape(-1, x.shape[-2], x.shape[-1])


def run_softmax(in_features, dim):
    return T.softmax(in_features, dim=dim)


def run_simple_self_attention(in_features):
    scores = in_features @ in_features.transpose(-2, -1)
    return T.softmax(scores, dim=-1) @ in_features


def run_self_attention(W_query, W_key, W_value, in_features):
    sa = SelfAttention(W_query.shape[0], W_query.shape[1])
    # nn.Linear stores (out, in)
    sa.W_query.weight.data = W_query.T
    sa.W_key.weight.data = W_key.T
    sa.W_value.weight.data = W_value.T
    return sa(in_features)


def run_causal_mask(seq_len):
    return subsequent_mask(seq_len)[0]


def run_attention_weights(Q, K, mask=None):
    _, p_attn = attention(Q, K, K, mask=mask)
    return p_attn


def run_attention_dropout(weights, p, training):
    drop = T.Dropout(p)
    drop.train(training)
    return drop(weights)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    out, _ = attention(Q, K, V, mask=mask)
    return out


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    csa = SelfAttention(W_query.shape[0], W_query.shape[1], causal=True)
    for layer, W in ((csa.W_query, W_query), (csa.W_key, W_key), (csa.W_value, W_value)):
        layer.weight.data = W.T
    return csa(in_features)


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    mha = MultiHeadAttention(d_model, num_heads)
    mha = load_weights(mha, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    x = to_3d(in_features)
    mask = subsequent_mask(x.size(1))
    return mha(x, x, x, mask).reshape(in_features.shape)


def run_multihead_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, query, key, value, is_causal
):
    mha = MultiHeadAttention(d_model, num_heads)
    mha = load_weights(mha, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    q, k, v = to_3d(query), to_3d(key), to_3d(value)
    mask = subsequent_mask(q.size(1)) if is_causal else None
    return mha(q, k, v, mask).reshape(query.shape)


def run_parameter_count(d_in, d_out, qkv_bias, out_bias):
    qkv = d_in * d_out
    if qkv_bias:
        qkv += d_out
    out = d_out * d_out
    if out_bias:
        out += d_out
    return 3 * qkv + out


def run_sinusoidal_positional_encoding(seq_len, d_model):
    pos_enc = PositionalEncoding(d_model, seq_len)
    return pos_enc(torch.zeros(1, seq_len, d_model)).squeeze(0)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    rotary = RotaryPositionalEmbedding(d_k, theta, max_seq_len)
    return rotary(in_query_or_key, token_positions)


def run_multihead_self_attention_with_rope(
    d_model, num_heads, max_seq_len, theta,
    q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features, token_positions=None,
):
    rotary = RotaryPositionalEmbedding(d_model // num_heads, theta, max_seq_len)
    mha = MultiHeadAttention(d_model, num_heads, rotary=rotary)
    mha = load_weights(mha, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    x = to_3d(in_features)
    if token_positions is None:
        token_positions = torch.arange(x.size(1))
    # same positions for every head: (batch, 1, seq)
    token_positions = token_positions.expand(in_features.shape[:-1])
    token_positions = token_positions.reshape(-1, 1, x.size(1))
    mask = subsequent_mask(x.size(1))
    return mha(x, x, x, mask, token_positions).reshape(in_features.shape)
