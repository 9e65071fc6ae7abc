from model import (
    CausalMask,
    Config,
    Dropout,
    Layer,
    MultiHead,
    Rotary,
    Scores,
    SingleHead,
    Sinusoids,
    Weights,
)


def run_simple_self_attention(in_features):
    return Scores.between(in_features, in_features, 1.0).weights() @ in_features


def run_self_attention(W_query, W_key, W_value, in_features):
    return SingleHead(W_query, W_key, W_value)(in_features)


def run_causal_mask(seq_len):
    return CausalMask(seq_len).tensor()


def run_attention_weights(Q, K, mask=None):
    return Scores.between(Q, K).seen_through(mask).weights()


def run_attention_dropout(weights, p, training):
    return Dropout(p)(weights) if training else weights


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    weights = Scores.between(Q, K).seen_through(mask).weights()
    return weights @ V


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    return SingleHead(W_query, W_key, W_value, causal=True)(in_features)


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    weights = Weights(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    layer = MultiHead(Config(d_model, num_heads), weights)
    return layer(in_features, in_features, in_features)


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
    config = Config(d_model, num_heads)
    if not is_causal:
        config = config.without_causality()
    weights = Weights(q_proj_weight, k_proj_weight, v_proj_weight, o=o_proj_weight)
    return MultiHead(config, weights)(query, key, value)


def run_parameter_count(d_in, d_out, qkv_bias, out_bias):
    projection = Layer(d_out, d_in, qkv_bias)
    output = Layer(d_out, d_out, out_bias)
    return 3 * projection.size() + output.size()


def run_sinusoidal_positional_encoding(seq_len, d_model):
    return Sinusoids(d_model).table(seq_len)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    rotary = Rotary(d_k, theta, max_seq_len, in_query_or_key.device)
    return rotary(in_query_or_key, token_positions)


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
    config = Config(d_model, num_heads, max_seq_len, theta)
    layer = MultiHead(
        config, Weights(q=q_proj_weight, k=k_proj_weight, v=v_proj_weight, o=o_proj_weight)
    )
    return layer(in_features, in_features, in_features, positions=token_positions)
