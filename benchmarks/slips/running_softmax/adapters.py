import streaming
from heads import attend_in_heads, one_head
from spiral import Spiral


def run_softmax(in_features, dim):
    return streaming.softmax(in_features, dim)


def run_causal_mask(seq_len):
    return streaming.visible(range_of_queries=(0, seq_len), range_of_keys=(0, seq_len))


def run_self_attention(W_query, W_key, W_value, in_features):
    return one_head(in_features, W_query, W_key, W_value, causal=False)


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    return one_head(in_features, W_query, W_key, W_value, causal=True)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return streaming.attention(Q, K, V, mask=mask)


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    weights = (q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return attend_in_heads(in_features, in_features, in_features, weights, num_heads, causal=True)


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
    weights = (q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return attend_in_heads(query, key, value, weights, num_heads, causal=is_causal)


def run_sinusoidal_positional_encoding(seq_len, d_model):
    return Spiral(d_model).climb(seq_len)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return Spiral(d_k, theta).rotate(in_query_or_key, token_positions)


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
    weights = (q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return attend_in_heads(
        in_features,
        in_features,
        in_features,
        weights,
        num_heads,
        causal=True,
        spiral=Spiral(d_model // num_heads, theta),
        positions=token_positions,
    )
