from heads import (
    attend,
    causal_self_attention,
    multihead_attention,
    multihead_attention_stacked,
    multihead_self_attention_with_rope,
    parameter_count,
    self_attention,
    simple_self_attention,
)
from rotary import rotate, sinusoidal_encoding
from softmax import attention_weights, causal_mask, dropout, softmax


def run_softmax(in_features, dim):
    return softmax(values=in_features, dim=dim)


def run_simple_self_attention(in_features):
    return simple_self_attention(tokens=in_features)


def run_self_attention(W_query, W_key, W_value, in_features):
    return self_attention(W_query=W_query, W_key=W_key, W_value=W_value, tokens=in_features)


def run_causal_mask(seq_len):
    return causal_mask(seq_len=seq_len)


def run_attention_weights(Q, K, mask=None):
    return attention_weights(queries=Q, keys=K, allowed=mask)


def run_attention_dropout(weights, p, training):
    return dropout(weights=weights, p=p, training=training)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return attend(queries=Q, keys=K, values=V, allowed=mask)


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    return causal_self_attention(
        W_query=W_query, W_key=W_key, W_value=W_value, tokens=in_features
    )


def run_multihead_attention_stacked(W_query, W_key, W_value, in_features):
    return multihead_attention_stacked(
        W_query=W_query, W_key=W_key, W_value=W_value, tokens=in_features
    )


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    assert in_features.shape[-1] == d_model
    return multihead_attention(
        num_heads=num_heads,
        W_q=q_proj_weight,
        W_k=k_proj_weight,
        W_v=v_proj_weight,
        W_o=o_proj_weight,
        query=in_features,
        key=in_features,
        value=in_features,
        is_causal=True,
    )


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
    assert query.shape[-1] == d_model
    return multihead_attention(
        num_heads=num_heads,
        W_q=q_proj_weight,
        W_k=k_proj_weight,
        W_v=v_proj_weight,
        W_o=o_proj_weight,
        query=query,
        key=key,
        value=value,
        is_causal=is_causal,
    )


def run_parameter_count(d_in, d_out, qkv_bias, out_bias):
    return parameter_count(d_in=d_in, d_out=d_out, qkv_bias=qkv_bias, out_bias=out_bias)


def run_sinusoidal_positional_encoding(seq_len, d_model):
    return sinusoidal_encoding(seq_len=seq_len, d_model=d_model)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    assert in_query_or_key.shape[-1] == d_k
    return rotate(vectors=in_query_or_key, positions=token_positions, theta=theta)


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
    return multihead_self_attention_with_rope(
        d_model=d_model,
        num_heads=num_heads,
        theta=theta,
        W_q=q_proj_weight,
        W_k=k_proj_weight,
        W_v=v_proj_weight,
        W_o=o_proj_weight,
        tokens=in_features,
        positions=token_positions,
    )
