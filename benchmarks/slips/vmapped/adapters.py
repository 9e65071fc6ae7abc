import torch

import core
from core import batched


def run_softmax(in_features, dim):
    return core.softmax(in_features, dim)


def run_simple_self_attention(in_features):
    one = lambda x: core.attend(x, x, x, scale=1.0)
    return batched(one, in_features)


def run_self_attention(W_query, W_key, W_value, in_features):
    return batched(core.single_head, in_features, shared=(W_query, W_key, W_value, None))


def run_causal_mask(seq_len):
    return core.causal(seq_len)


def _with_mask(f, tensors, mask):
    if mask is None:
        return batched(f, *tensors)
    lead = tensors[0].shape[:-2]
    return batched(f, *tensors, mask.expand(*lead, *mask.shape[-2:]))


def run_attention_weights(Q, K, mask=None):
    return _with_mask(core.weights, (Q, K), mask)


def run_attention_dropout(weights, p, training):
    return core.dropout(weights, p, training)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return _with_mask(core.attend, (Q, K, V), mask)


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    mask = core.causal(in_features.shape[-2], in_features.device)
    return batched(core.single_head, in_features, shared=(W_query, W_key, W_value, mask))


def run_multihead_attention_stacked(W_query, W_key, W_value, in_features):
    return batched(core.stacked, in_features, shared=(W_query, W_key, W_value))


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    params = core.init(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, num_heads)
    mask = core.causal(in_features.shape[-2], in_features.device)
    return batched(lambda x: core.multi_head(params, x, x, x, mask), in_features)


def run_multihead_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight,
    query, key, value, is_causal,
):
    params = core.init(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, num_heads)
    mask = core.causal(query.shape[-2], query.device) if is_causal else None
    layer = lambda q, k, v: core.multi_head(params, q, k, v, mask)
    return batched(layer, query, key, value)


def run_parameter_count(d_in, d_out, qkv_bias, out_bias):
    return core.n_params(core.shapes(d_in, d_out, qkv_bias, out_bias))


def run_sinusoidal_positional_encoding(seq_len, d_model):
    return core.sinusoidal(seq_len, d_model)


def _positions(token_positions, x):
    return token_positions.expand(x.shape[:-1]).reshape(-1, x.shape[-2])


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    x = in_query_or_key.reshape(-1, *in_query_or_key.shape[-2:])
    turned = torch.vmap(core.rope, in_dims=(0, 0, None))(x, _positions(token_positions, in_query_or_key), theta)
    return turned.reshape(in_query_or_key.shape)


def run_multihead_self_attention_with_rope(
    d_model, num_heads, max_seq_len, theta,
    q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight,
    in_features, token_positions=None,
):
    params = core.init(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, num_heads)
    n = in_features.shape[-2]
    if token_positions is None:
        token_positions = torch.arange(n, device=in_features.device)
    mask = core.causal(n, in_features.device)

    def layer(x, positions):
        rotate = lambda y: core.rope(y, positions, theta)
        return core.multi_head(params, x, x, x, mask, rotate)

    x = in_features.reshape(-1, n, d_model)
    return torch.vmap(layer)(x, _positions(token_positions, in_features)).reshape(in_features.shape)
