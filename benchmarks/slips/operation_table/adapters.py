import operations  # noqa: F401  (fills the table)
from table import perform


def run_softmax(in_features, dim):
    return perform("softmax", in_features, dim)


def run_self_attention(W_query, W_key, W_value, in_features):
    q, k, v = perform("project", in_features, (W_query, W_key, W_value))
    return perform("attention", q, k, v)


def run_causal_mask(seq_len):
    return perform("mask/past", seq_len)


def run_attention_weights(Q, K, mask=None):
    return perform("weights", Q, K, mask=mask)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return perform("attention", Q, K, V, mask=mask)


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    q, k, v = perform("project", in_features, (W_query, W_key, W_value))
    return perform("attention", q, k, v, mask=perform("mask/past", q.shape[-2], q.device))


def run_multihead_attention_stacked(W_query, W_key, W_value, in_features):
    return perform("heads/own", in_features, (W_query, W_key, W_value))


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    return perform(
        "heads/shared",
        (in_features, in_features, in_features),
        (q_proj_weight, k_proj_weight, v_proj_weight),
        o_proj_weight,
        {"heads": num_heads, "mask": "past"},
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
    return perform(
        "heads/shared",
        (query, key, value),
        (q_proj_weight, k_proj_weight, v_proj_weight),
        o_proj_weight,
        {"heads": num_heads, "mask": "past" if is_causal else "all"},
    )


def run_parameter_count(d_in, d_out, qkv_bias, out_bias):
    return perform("count", {"in": d_in, "out": d_out}, {"qkv": qkv_bias, "out": out_bias})


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return perform("position/turn", in_query_or_key, token_positions, theta)


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
    positions = token_positions
    if positions is None:
        positions = perform("position/default", in_features)
    return perform(
        "heads/shared",
        (in_features, in_features, in_features),
        (q_proj_weight, k_proj_weight, v_proj_weight),
        o_proj_weight,
        {"heads": num_heads, "mask": "past", "positions": positions, "theta": theta},
    )
