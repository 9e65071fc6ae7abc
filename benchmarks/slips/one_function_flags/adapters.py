import torch

from transformer import attention, layer, mask_for, positional, softmax


def run_softmax(in_features, dim):
    return softmax(in_features, dim)


def run_simple_self_attention(in_features):
    return layer(in_features, layout="none")


def run_self_attention(W_query, W_key, W_value, in_features):
    return layer(in_features, (W_query, W_key, W_value), layout="right")


def run_causal_mask(seq_len):
    return mask_for("causal", seq_len, None)


def run_attention_weights(Q, K, mask=None):
    return attention(Q, K, mask=mask)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return attention(Q, K, V, mask)


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    return layer(in_features, (W_query, W_key, W_value), mask="causal", layout="right")


def run_multihead_attention_stacked(W_query, W_key, W_value, in_features):
    wide = [torch.cat(list(W), dim=-1) for W in (W_query, W_key, W_value)]
    return layer(in_features, wide, heads=W_query.shape[0], mask="causal", layout="right")


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    return layer(
        in_features,
        (q_proj_weight, k_proj_weight, v_proj_weight),
        o_proj_weight,
        heads=num_heads,
        mask="causal",
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
    return layer(
        query,
        (q_proj_weight, k_proj_weight, v_proj_weight),
        o_proj_weight,
        heads=num_heads,
        memory=key,
        values=value,
        mask="causal" if is_causal else "all",
    )


def run_sinusoidal_positional_encoding(seq_len, d_model):
    return positional("add", seq_len, d_model)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    length = in_query_or_key.shape[-2]
    return positional("rotate", length, d_k, theta, in_query_or_key, token_positions)


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
    return layer(
        in_features,
        (q_proj_weight, k_proj_weight, v_proj_weight),
        o_proj_weight,
        heads=num_heads,
        mask="causal",
        rope=theta,
        positions=token_positions,
    )
