import ops
import torch
from embeddings import RotaryEmbedding, SinePositionEncoding
from layers import Attention, Dropout, MultiHeadAttention, SelfAttentionHead, Softmax, StackedHeads


def run_softmax(in_features, dim):
    return Softmax.from_config({"axis": dim})(in_features)


def run_simple_self_attention(in_features):
    layer = Attention.from_config({"use_scale": False, "causal": False})
    return layer(in_features, in_features, in_features)


def run_self_attention(W_query, W_key, W_value, in_features):
    layer = SelfAttentionHead(units=W_query.shape[1])
    layer.build(in_features.shape)
    layer.set_weights([W_query, W_key, W_value])
    return layer(in_features)


def run_causal_mask(seq_len):
    return ops.causal_mask(seq_len)


def run_attention_weights(Q, K, mask=None):
    _, scores = Attention()(Q, K, K, mask=mask, return_attention_scores=True)
    return scores


def run_attention_dropout(weights, p, training):
    return Dropout(rate=p)(weights, training=training)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return Attention()(Q, V, K, mask=mask)


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    layer = SelfAttentionHead(units=W_query.shape[-1], causal=True)
    layer.build(in_features.shape)
    layer.set_weights((W_query, W_key, W_value))
    return layer(in_features)


def run_multihead_attention_stacked(W_query, W_key, W_value, in_features):
    num_heads, _, units = W_query.shape
    layer = StackedHeads(num_heads, units)
    layer.build(in_features.shape)
    layer.set_weights((W_query, W_key, W_value))
    return layer(in_features)


def make_multihead(d_model, num_heads, weights, causal):
    config = {"num_heads": num_heads, "units": d_model, "causal": causal}
    layer = MultiHeadAttention.from_config(config)
    layer.build((None, d_model))
    layer.set_weights(weights)
    return layer


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    weights = [q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight]
    layer = make_multihead(d_model, num_heads, weights, causal=True)
    return layer(in_features, in_features)


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
    kernels = [q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight]
    layer = make_multihead(d_model, num_heads, kernels, causal=is_causal)
    return layer(query, value, key)


def run_parameter_count(d_in, d_out, qkv_bias, out_bias):
    layer = MultiHeadAttention(num_heads=1, units=d_out, use_bias=qkv_bias, output_bias=out_bias)
    layer.build((None, d_in))
    return layer.count_params()


def run_sinusoidal_positional_encoding(seq_len, d_model):
    return SinePositionEncoding(max_wavelength=10000)(torch.zeros(seq_len, d_model))


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    layer = RotaryEmbedding(max_wavelength=theta, max_length=max_seq_len)
    return layer(in_query_or_key, token_positions)


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
    if token_positions is None:
        token_positions = torch.arange(in_features.shape[-2], device=in_features.device)
    matrices = [q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight]
    layer = make_multihead(d_model, num_heads, matrices, causal=True)
    layer.rotary = RotaryEmbedding.from_config(
        {"max_wavelength": theta, "max_length": max_seq_len}
    )
    return layer(in_features, in_features, positions=token_positions)
