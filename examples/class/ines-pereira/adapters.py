import torch
import torch.nn.functional as F

from my_attention import attend, future, heads, rotate, unheads, weights as attention_weights


def run_softmax(in_features, dim):
    return F.softmax(in_features, dim=dim)

def run_simple_self_attention(in_features):
    s = torch.einsum("...id,...jd->...ij", in_features, in_features)
    return torch.einsum("...ij,...jd->...id", F.softmax(s, dim=-1), in_features)

def run_self_attention(W_query, W_key, W_value, in_features):
    x = in_features
    return attend(x @ W_query, x @ W_key, x @ W_value)

def run_causal_mask(seq_len):
    return future(seq_len)

def run_attention_weights(Q, K, mask=None):
    return attention_weights(Q, K, mask)

def run_attention_dropout(weights, p, training):
    return F.dropout(weights, p, training)

def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return attend(Q, K, V, mask)

def run_causal_self_attention(W_query, W_key, W_value, in_features):
    x = in_features
    return attend(x @ W_query, x @ W_key, x @ W_value, future(x.shape[-2], x.device))

def run_multihead_attention_stacked(W_query, W_key, W_value, in_features):
    q, k, v = (torch.einsum("...si,hid->...hsd", in_features, w) for w in (W_query, W_key, W_value))
    o = attend(q, k, v, future(in_features.shape[-2], in_features.device))
    return o.transpose(-3, -2).flatten(-2)

def run_multihead_self_attention(d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features):
    return run_multihead_attention(d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight,
                                   in_features, in_features, in_features, True)

def run_multihead_attention(d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, query, key, value, is_causal):
    q = heads(query, q_proj_weight, num_heads)
    k = heads(key, k_proj_weight, num_heads)
    v = heads(value, v_proj_weight, num_heads)
    m = future(query.shape[-2], query.device) if is_causal else None
    return unheads(attend(q, k, v, m), o_proj_weight)

def run_sinusoidal_positional_encoding(seq_len, d_model):
    half = (d_model + 1) // 2
    phi = torch.arange(seq_len)[:, None] * 10000.0 ** (-2 * torch.arange(half) / d_model)
    return torch.dstack([phi.sin(), phi.cos()]).reshape(seq_len, 2 * half)[:, :d_model]

def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return rotate(in_query_or_key, token_positions, theta)

def run_multihead_self_attention_with_rope(d_model, num_heads, max_seq_len, theta, q_proj_weight, k_proj_weight, v_proj_weight,
                                           o_proj_weight, in_features, token_positions=None):
    n = in_features.shape[-2]
    if token_positions is None:
        token_positions = torch.arange(n, device=in_features.device)
    pos = token_positions[..., None, :]
    q = rotate(heads(in_features, q_proj_weight, num_heads), pos, theta)
    k = rotate(heads(in_features, k_proj_weight, num_heads), pos, theta)
    v = heads(in_features, v_proj_weight, num_heads)
    return unheads(attend(q, k, v, future(n, in_features.device)), o_proj_weight)

def run_parameter_count(d_in, d_out, qkv_bias, out_bias):
    weights = 3 * d_in * d_out + d_out ** 2
    biases = d_out * (3 * qkv_bias + out_bias)
    return weights + biases
