from transformer import (
    HeadBank,
    InvertedDropout,
    MultiHeadedAttention,
    PositionalEncoding,
    RotaryEncoding,
    attention,
    count_parameters,
    stable_softmax,
    subsequent_mask,
)


def three_axes(x):
    "(..., seq, d) -> (nbatches, seq, d)"
    return x.flatten(0, -3) if x.dim() > 2 else x.unsqueeze(0)


def positions_like(positions, x):
    "One row of positions for each batch."
    return positions.expand(*x.shape[:-1]).reshape(-1, x.shape[-2])


def run_softmax(in_features, dim):
    return stable_softmax(in_features, dim)


def run_simple_self_attention(in_features):
    context, _ = attention(in_features, in_features, in_features, scaled=False)
    return context


def run_self_attention(W_query, W_key, W_value, in_features):
    context, _ = attention(in_features @ W_query, in_features @ W_key, in_features @ W_value)
    return context


def run_causal_mask(seq_len):
    return subsequent_mask(seq_len)


def run_attention_weights(Q, K, mask=None):
    _, p_attn = attention(Q, K, K, mask)
    return p_attn


def run_attention_dropout(weights, p, training):
    dropout = InvertedDropout(p)
    dropout.train(training)
    return dropout(weights)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return attention(Q, K, V, mask=mask)[0]


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    mask = subsequent_mask(in_features.shape[-2], in_features.device)
    q = in_features @ W_query
    k = in_features @ W_key
    v = in_features @ W_value
    return attention(q, k, v, mask)[0]


def run_multihead_attention_stacked(W_query, W_key, W_value, in_features):
    return HeadBank(W_query, W_key, W_value)(in_features)


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    mha = MultiHeadedAttention(num_heads, d_model)
    mha.set_weights(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    x = three_axes(in_features)
    out = mha(x, x, x, subsequent_mask(x.size(1), x.device))
    return out.view_as(in_features)


def run_multihead_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight,
    query, key, value, is_causal,
):
    mha = MultiHeadedAttention(num_heads, d_model)
    mha.set_weights(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    mask = None
    if is_causal:
        mask = subsequent_mask(query.size(-2), query.device)
    out = mha(three_axes(query), three_axes(key), three_axes(value), mask=mask)
    return out.view_as(query)


def run_parameter_count(d_in, d_out, qkv_bias, out_bias):
    return count_parameters(d_in, d_out, qkv_bias, out_bias)


def run_sinusoidal_positional_encoding(seq_len, d_model):
    return PositionalEncoding(d_model, max_len=seq_len)(seq_len)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    rotary = RotaryEncoding(d_k, theta, max_seq_len, in_query_or_key.device)
    return rotary(in_query_or_key, positions_like(token_positions, in_query_or_key).view(
        in_query_or_key.shape[:-1]
    ))


def run_multihead_self_attention_with_rope(
    d_model, num_heads, max_seq_len, theta,
    q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight,
    in_features, token_positions=None,
):
    rotary = RotaryEncoding(d_model // num_heads, theta, max_seq_len, in_features.device)
    mha = MultiHeadedAttention(num_heads, d_model, rotary)
    mha.set_weights(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    x = three_axes(in_features)
    if token_positions is not None:
        token_positions = positions_like(token_positions, in_features).unsqueeze(1)
    mask = subsequent_mask(x.size(-2), x.device)
    out = mha(x, x, x, mask, token_positions)
    return out.view_as(in_features)
