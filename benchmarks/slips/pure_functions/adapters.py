"""What the grader calls. Only unpacking and packing happens here, the work is in the modules."""

import attend
import places
from attend import Heads, Qkv, Weights
from places import Rotary


def run_softmax(in_features, dim):
    return attend.softmax(in_features, dim=dim)


def run_simple_self_attention(in_features):
    return attend.simple_self_attention(in_features)


def run_self_attention(W_query, W_key, W_value, in_features):
    return attend.self_attention(in_features, weights=Qkv(W_query, W_key, W_value), causal=False)


def run_causal_mask(seq_len):
    return attend.causal_mask(seq_len)


def run_attention_weights(Q, K, mask=None):
    return attend.attention_weights(Q, K, mask=mask)


def run_attention_dropout(weights, p, training):
    return attend.dropout(weights, p=p, training=training)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return attend.attend(Q, K, V, mask=mask)


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    bundle = Qkv(query=W_query, key=W_key, value=W_value)
    return attend.self_attention(in_features, weights=bundle, causal=True)


def run_multihead_attention_stacked(W_query, W_key, W_value, in_features):
    per_head = Qkv(W_query, W_key, W_value)
    return attend.stacked_heads(in_features, weights=per_head)


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    return attend.multihead_self(
        in_features,
        weights=Weights(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight),
        heads=Heads(d_model, num_heads),
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
    inputs = Qkv(query, key, value)
    weights = Weights(
        query=q_proj_weight,
        key=k_proj_weight,
        value=v_proj_weight,
        output=o_proj_weight,
    )
    heads = Heads(d_model=d_model, count=num_heads)
    return attend.multihead(inputs, weights=weights, heads=heads, causal=is_causal)


def run_parameter_count(d_in, d_out, qkv_bias, out_bias):
    return attend.parameter_count(d_in=d_in, d_out=d_out, qkv_bias=qkv_bias, out_bias=out_bias)


def run_sinusoidal_positional_encoding(seq_len, d_model):
    return places.sinusoidal(seq_len=seq_len, d_model=d_model)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    settings = Rotary(d_k, theta, max_seq_len)
    return places.rope(in_query_or_key, positions=token_positions, settings=settings)


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
    matrices = Weights(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return places.multihead_rope(
        in_features,
        weights=matrices,
        heads=Heads(d_model=d_model, count=num_heads),
        theta=theta,
        max_seq_len=max_seq_len,
        positions=token_positions,
    )
