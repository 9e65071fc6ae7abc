import torch

from modeling import AttentionConfig, SelfAttention
from modeling.functional import (
    attn_dropout,
    eager_attention_forward,
    get_extended_attention_mask,
    make_causal_mask,
    softmax,
)
from modeling.rotary import (
    RotaryEmbedding,
    apply_rotary_pos_emb,
    create_sinusoidal_positions,
    interleave,
)


def extended(mask, tensor):
    return None if mask is None else get_extended_attention_mask(mask, tensor.dtype)


def batch_first(hidden_states):
    return hidden_states.reshape(-1, *hidden_states.shape[-2:])


def batch_positions(token_positions, hidden_states):
    position_ids = token_positions.broadcast_to(hidden_states.shape[:-1])
    return position_ids.reshape(-1, hidden_states.shape[-2])


def run_softmax(in_features, dim):
    return softmax(in_features, dim)


def run_simple_self_attention(in_features):
    attn_output, _ = eager_attention_forward(in_features, in_features, in_features)
    return attn_output


def run_self_attention(W_query, W_key, W_value, in_features):
    query, key, value = in_features @ W_query, in_features @ W_key, in_features @ W_value
    attn_output, _ = eager_attention_forward(query, key, value, scaling=key.size(-1) ** -0.5)
    return attn_output


def run_causal_mask(seq_len):
    return make_causal_mask(seq_len)


def run_attention_weights(Q, K, mask=None):
    scaling = Q.size(-1) ** -0.5
    _, attn_weights = eager_attention_forward(Q, K, K, extended(mask, Q), scaling)
    return attn_weights


def run_attention_dropout(weights, p, training):
    return attn_dropout(weights, p, training)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    scaling = Q.size(-1) ** -0.5
    attn_output, _ = eager_attention_forward(Q, K, V, extended(mask, Q), scaling)
    return attn_output


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    query, key, value = in_features @ W_query, in_features @ W_key, in_features @ W_value
    mask = make_causal_mask(in_features.size(-2), device=in_features.device)
    attn_output, _ = eager_attention_forward(
        query, key, value, extended(mask, query), scaling=query.size(-1) ** -0.5
    )
    return attn_output


def run_multihead_attention_stacked(W_query, W_key, W_value, in_features):
    hidden_states = in_features.unsqueeze(-3)
    query, key, value = (hidden_states @ weight for weight in (W_query, W_key, W_value))
    mask = make_causal_mask(in_features.size(-2), device=in_features.device)
    attn_output, _ = eager_attention_forward(
        query, key, value, extended(mask, query), scaling=W_query.size(-1) ** -0.5
    )
    return attn_output.transpose(-3, -2).flatten(-2)


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    config = AttentionConfig(d_model, num_heads, is_decoder=True)
    model = SelfAttention.from_pretrained(
        config, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight
    )
    outputs = model(batch_first(in_features))
    return outputs[0].view(in_features.shape)


def run_multihead_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight,
    query, key, value, is_causal,
):
    config = AttentionConfig(hidden_size=d_model, num_attention_heads=num_heads, is_decoder=is_causal)
    model = SelfAttention.from_pretrained(
        config, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight
    )
    outputs = model(
        batch_first(query),
        encoder_hidden_states=batch_first(key),
        encoder_values=batch_first(value),
    )
    return outputs[0].view(query.shape)


def run_parameter_count(d_in, d_out, qkv_bias, out_bias):
    config = AttentionConfig(
        hidden_size=d_out, input_size=d_in, qkv_bias=qkv_bias, out_bias=out_bias
    )
    return SelfAttention(config, device="meta").num_parameters()


def run_sinusoidal_positional_encoding(seq_len, d_model):
    return interleave(create_sinusoidal_positions(seq_len, d_model)).float()


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    rotary = RotaryEmbedding(d_k, max_seq_len, theta, in_query_or_key.device)
    position_ids = batch_positions(token_positions, in_query_or_key)
    sin, cos = rotary(position_ids, in_query_or_key.dtype)
    tensor = batch_first(in_query_or_key).unsqueeze(2)
    return apply_rotary_pos_emb(tensor, sin, cos).view(in_query_or_key.shape)


def run_multihead_self_attention_with_rope(
    d_model, num_heads, max_seq_len, theta,
    q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight,
    in_features, token_positions=None,
):
    config = AttentionConfig(
        d_model, num_heads, max_seq_len, rotary_base=theta, is_decoder=True
    )
    model = SelfAttention.from_pretrained(
        config, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight
    )
    position_ids = None
    if token_positions is not None:
        position_ids = batch_positions(token_positions, in_features)
    outputs = model(batch_first(in_features), position_ids=position_ids)
    return outputs[0].view(in_features.shape)
