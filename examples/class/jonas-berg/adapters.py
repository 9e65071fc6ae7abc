import torch
from torch import nn

from model.multi_head import MultiHeadAttention
from model.positions import Rotary, sinusoidal
from model.scaled_dot_product import attention, attention_weights, causal


def run_softmax(in_features, dim):
    return in_features.softmax(dim)


def run_simple_self_attention(in_features):
    return (in_features @ in_features.transpose(-2, -1)).softmax(-1) @ in_features


def run_self_attention(W_query, W_key, W_value, in_features):
    return attention(in_features @ W_query, in_features @ W_key, in_features @ W_value)


def run_causal_mask(seq_len):
    return causal(torch.empty(seq_len, 1))


def run_attention_weights(Q, K, mask=None):
    return attention_weights(Q, K, mask)


def run_attention_dropout(weights, p, training):
    layer = nn.Dropout(p)
    if training:
        layer.train()
    else:
        layer.eval()
    return layer(weights)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return attention(Q, K, V, mask)


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    return attention(in_features @ W_query, in_features @ W_key, in_features @ W_value,
                     mask=causal(in_features))


def run_multihead_attention_stacked(W_query, W_key, W_value, in_features):
    return torch.cat([
        run_causal_self_attention(q, k, v, in_features)
        for q, k, v in zip(W_query, W_key, W_value)
    ], dim=-1)


def build(d_model, num_heads, is_causal, q, k, v, o):
    layer = MultiHeadAttention(d_model, num_heads, is_causal, device=q.device, dtype=q.dtype)
    layer.load_state_dict({'query.weight': q, 'key.weight': k, 'value.weight': v, 'out.weight': o})
    return layer


def run_multihead_self_attention(d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight,
                                 o_proj_weight, in_features):
    layer = build(d_model, num_heads, True, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return layer(in_features, in_features, in_features)


def run_multihead_attention(d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight,
                            o_proj_weight, query, key, value, is_causal):
    layer = build(d_model, num_heads, is_causal, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return layer(query, key, value)


def run_sinusoidal_positional_encoding(seq_len, d_model):
    return sinusoidal(seq_len, d_model)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return Rotary(d_k, theta, token_positions)(in_query_or_key)


def run_multihead_self_attention_with_rope(d_model, num_heads, max_seq_len, theta, q_proj_weight,
                                           k_proj_weight, v_proj_weight, o_proj_weight, in_features,
                                           token_positions=None):
    if token_positions is None:
        token_positions = torch.arange(in_features.size(-2), device=in_features.device)
    rotary = Rotary(d_model // num_heads, theta, token_positions.unsqueeze(-2))
    layer = build(d_model, num_heads, True, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return layer(in_features, in_features, in_features, rotary)


def run_parameter_count(d_in, d_out, qkv_bias, out_bias):
    with torch.device('meta'):
        qkv = nn.Linear(d_in, 3 * d_out, bias=qkv_bias)
        out = nn.Linear(d_out, d_out, bias=out_bias)
    return sum(p.numel() for p in [*qkv.parameters(), *out.parameters()])
