import attention
import rope


def run_softmax(in_features, dim):
    return attention.softmax(in_features, dim)


def run_causal_mask(seq_len):
    return attention.causal_mask(seq_len)


def run_attention_weights(Q, K, mask=None):
    return attention.softmax(attention.scores(Q, K, mask), dim=-1)


def run_attention_dropout(weights, p, training):
    return attention.dropout(weights, p, training)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return attention.attend(Q, K, V, mask)


def run_self_attention(W_query, W_key, W_value, in_features):
    return attention.single_head(in_features, W_query, W_key, W_value, causal=False)


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    return attention.single_head(in_features, W_query, W_key, W_value, causal=True)


def run_multihead_attention_stacked(W_query, W_key, W_value, in_features):
    return attention.stacked(in_features, W_query, W_key, W_value)


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    return attention.multihead(
        in_features, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, num_heads
    )


def run_sinusoidal_positional_encoding(seq_len, d_model):
    return rope.sinusoidal(seq_len, d_model)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return rope.rope(in_query_or_key, theta, max_seq_len, token_positions)


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
    return rope.multihead_rope(
        in_features,
        q_proj_weight,
        k_proj_weight,
        v_proj_weight,
        o_proj_weight,
        num_heads,
        max_seq_len,
        theta,
        token_positions,
    )
