import torch

import factories as make


def run_softmax(in_features, dim):
    softmax = make.make_softmax(dim)
    return softmax(in_features)


def run_simple_self_attention(in_features):
    attend = make.make_attention(in_features.shape[-1], scaled=False)
    return attend(in_features, in_features, in_features)


def run_self_attention(W_query, W_key, W_value, in_features):
    project = make.make_projection(W_query, W_key, W_value)
    attend = make.make_attention(W_key.shape[-1])
    return attend(*project(in_features))


def run_causal_mask(seq_len):
    return make.make_causal(seq_len)


def run_attention_weights(Q, K, mask=None):
    weights = make.make_weights(Q.shape[-1], mask)
    return weights(Q, K)


def run_attention_dropout(weights, p, training):
    drop = make.make_dropout(p, training)
    return drop(weights)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return make.make_attention(K.shape[-1], mask)(Q, K, V)


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    project = make.make_projection(W_query, W_key, W_value)
    allowed = make.make_causal(in_features.shape[-2], in_features.device)
    return make.make_attention(W_query.shape[-1], allowed)(*project(in_features))


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    x = in_features
    multihead = make.make_multihead(
        num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight
    )
    return multihead(x, x, x, make.make_causal(x.shape[-2], x.device))


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
    multihead = make.make_multihead(
        num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight
    )
    allowed = make.make_causal(query.shape[-2], query.device) if is_causal else None
    return multihead(query, key, value, allowed)


def run_sinusoidal_positional_encoding(seq_len, d_model):
    encode = make.make_sinusoids(d_model)
    return encode(seq_len)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    turn = make.make_rotation(d_k, theta, max_seq_len, in_query_or_key.device)
    return turn(in_query_or_key, token_positions)


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
    x = in_features
    if token_positions is None:
        token_positions = torch.arange(x.shape[-2], device=x.device)
    rotation = make.make_rotation(d_model // num_heads, theta, max_seq_len, x.device)
    at_heads = token_positions.unsqueeze(-2)
    multihead = make.make_multihead(
        num_heads,
        q_proj_weight,
        k_proj_weight,
        v_proj_weight,
        o_proj_weight,
        turn=lambda part: rotation(part, at_heads),
    )
    return multihead(x, x, x, make.make_causal(x.shape[-2], x.device))
