"""Adapters: build my nn.Modules, load the given weights into them and call them."""

import torch

from assignment_code.attention import (
    AttentionWeights,
    CausalSelfAttention,
    MultiHeadAttention,
    MultiHeadAttentionWrapper,
    MultiHeadSelfAttention,
    MultiHeadSelfAttentionWithRoPE,
    ScaledDotProductAttention,
    SelfAttention,
    SimpleSelfAttention,
)
from assignment_code.layers import (
    AttentionDropout,
    AttentionParameterCounter,
    CausalMask,
    Softmax,
)
from assignment_code.rope import RotaryPositionalEmbedding, SinusoidalPositionalEncoding


def copy_right_weights(module, W_query, W_key, W_value):
    """The given matrices are used as x @ W, but nn.Linear computes x @ W.T, so transpose them."""
    with torch.no_grad():
        module.W_query.weight.copy_(W_query.T)
        module.W_key.weight.copy_(W_key.T)
        module.W_value.weight.copy_(W_value.T)


def load_projections(module, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight):
    """Loads the four weights, they already have the shape of nn.Linear.weight."""
    module.to(device=q_proj_weight.device, dtype=q_proj_weight.dtype)
    module.load_state_dict(
        {
            "query_projection.weight": q_proj_weight,
            "key_projection.weight": k_proj_weight,
            "value_projection.weight": v_proj_weight,
            "output_projection.weight": o_proj_weight,
        }
    )


def run_softmax(in_features, dim):
    softmax_layer = Softmax(dim=dim)
    return softmax_layer(in_features)


def run_simple_self_attention(in_features):
    return SimpleSelfAttention()(in_features)


def run_self_attention(W_query, W_key, W_value, in_features):
    d_in, d_out = W_query.shape
    self_attention = SelfAttention(d_in, d_out).to(in_features)
    copy_right_weights(self_attention, W_query, W_key, W_value)
    return self_attention(in_features)


def run_causal_mask(seq_len):
    causal_mask = CausalMask(context_length=seq_len)
    return causal_mask(seq_len)


def run_attention_weights(Q, K, mask=None):
    attention_weights = AttentionWeights()
    return attention_weights(Q, K, mask)


def run_attention_dropout(weights, p, training):
    dropout_layer = AttentionDropout(drop_probability=p)
    # modules start in training mode, so I have to set it
    if training:
        dropout_layer.train()
    else:
        dropout_layer.eval()
    return dropout_layer(weights)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    attention = ScaledDotProductAttention()
    return attention(query=Q, key=K, value=V, mask=mask)


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    d_in, d_out = W_query.shape
    context_length = in_features.shape[-2]
    causal_attention = CausalSelfAttention(d_in, d_out, context_length)
    causal_attention.to(in_features)
    copy_right_weights(causal_attention, W_query, W_key, W_value)
    return causal_attention(in_features)


def run_multihead_attention_stacked(W_query, W_key, W_value, in_features):
    num_heads, d_in, d_head = W_query.shape
    context_length = in_features.shape[-2]
    wrapper = MultiHeadAttentionWrapper(d_in, d_head, context_length, num_heads)
    wrapper.to(in_features)
    for head_index, head in enumerate(wrapper.heads):
        copy_right_weights(head, W_query[head_index], W_key[head_index], W_value[head_index])
    return wrapper(in_features)


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    context_length = in_features.shape[-2]
    multihead_attention = MultiHeadSelfAttention(d_model, num_heads, context_length)
    load_projections(
        multihead_attention, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight
    )
    return multihead_attention(in_features)


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
    cross_attention = MultiHeadAttention(d_model, num_heads)
    load_projections(cross_attention, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return cross_attention(query, key, value, is_causal=is_causal)


def run_parameter_count(d_in, d_out, qkv_bias, out_bias):
    counter = AttentionParameterCounter(d_in, d_out, qkv_bias=qkv_bias, out_bias=out_bias)
    return counter.count()


def run_sinusoidal_positional_encoding(seq_len, d_model):
    positional_encoding = SinusoidalPositionalEncoding(d_model, max_length=seq_len)
    return positional_encoding(seq_len)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    rope = RotaryPositionalEmbedding(d_k, max_seq_len, theta).to(in_query_or_key.device)
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
    config = {
        "d_model": d_model,
        "num_heads": num_heads,
        "max_seq_len": max_seq_len,
        "theta": theta,
    }
    rope_attention = MultiHeadSelfAttentionWithRoPE(config)
    load_projections(rope_attention, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return rope_attention(in_features, token_positions)
