import attn


def run_softmax(in_features, dim):
    return attn.Softmax(dim)(in_features)


def run_simple_self_attention(in_features):
    return attn.PlainHead()(in_features)


def run_self_attention(W_query, W_key, W_value, in_features):
    return attn.Head(W_query, W_key, W_value)(in_features)


def run_causal_mask(seq_len):
    return attn.Triangle(seq_len).allowed


def run_attention_weights(Q, K, mask=None):
    return attn.Weights(Q.shape[-1])(Q, K, mask)


def run_attention_dropout(weights, p, training):
    return attn.Dropout(p).train(training)(weights)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return attn.Weights(K.shape[-1])(Q, K, mask) @ V


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    return attn.CausalHead(W_query, W_key, W_value)(in_features)


def run_multihead_attention_stacked(W_query, W_key, W_value, in_features):
    return attn.StackedHeads(W_query, W_key, W_value)(in_features)


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    weights = q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight
    return attn.MultiHead(d_model, num_heads, *weights)(in_features)


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
    weights = q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight
    module = attn.CrossAttention(d_model, num_heads, *weights, causal=is_causal)
    return module(query, key, value)


def run_parameter_count(d_in, d_out, qkv_bias, out_bias):
    return attn.CrossAttention.parameters(d_in, d_out, qkv_bias, out_bias)


def run_sinusoidal_positional_encoding(seq_len, d_model):
    return attn.Sinusoidal(d_model)(seq_len)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return attn.Rotary(d_k, theta, max_seq_len)(in_query_or_key, token_positions)


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
    weights = q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight
    module = attn.RotaryMultiHead(d_model, num_heads, *weights, theta=theta, max_len=max_seq_len)
    return module(in_features, token_positions)
