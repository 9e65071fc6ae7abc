from ch03 import AttentionDropout, CausalAttention, MultiHeadAttention, MultiHeadAttentionWrapper
from ch03 import SelfAttention_v1, compute_attn_weights, future_mask, simplified_attention
from ch03 import softmax_stable
from ch03_positions import RoPEMultiHeadAttention, apply_rope, precompute_freqs_cis, sinusoidal


def move(module, x):
    """Same device and dtype as the inputs. (.to(dtype) would kill the imaginary parts!)"""
    module.to(x.device)
    for p in module.parameters():
        p.data = p.data.to(x.dtype)
    return module


def run_softmax(in_features, dim):
    return softmax_stable(in_features, dim)


def run_simple_self_attention(in_features):
    return simplified_attention(in_features)


def run_self_attention(W_query, W_key, W_value, in_features):
    d_in, d_out = W_query.shape
    sa_v1 = move(SelfAttention_v1(d_in, d_out), in_features)
    sa_v1.load(W_query, W_key, W_value)
    return sa_v1(in_features)


def run_causal_mask(seq_len):
    return ~future_mask(seq_len)


def run_attention_weights(Q, K, mask=None):
    # the homework's mask says what is allowed, the book's says what is hidden
    hidden = None if mask is None else ~mask
    return compute_attn_weights(Q, K, hidden)


def run_attention_dropout(weights, p, training):
    dropout = AttentionDropout(p)
    dropout.train(training)
    return dropout(weights)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    attn_weights = run_attention_weights(Q, K, mask)
    return attn_weights @ V


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    d_in, d_out = W_query.shape
    ca = move(CausalAttention(d_in, d_out, context_length=in_features.shape[-2]), in_features)
    ca.load(W_query, W_key, W_value)
    return ca(in_features)


def run_multihead_attention_stacked(W_query, W_key, W_value, in_features):
    num_heads, d_in, d_out = W_query.shape
    context_length = in_features.shape[-2]
    mha = MultiHeadAttentionWrapper(d_in, d_out, context_length, num_heads)
    mha = move(mha, in_features)
    mha.load(W_query, W_key, W_value)
    return mha(in_features)


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    mha = MultiHeadAttention(d_model, d_model, in_features.shape[-2], num_heads)
    mha = move(mha, in_features)
    mha.load(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return mha(in_features, in_features, in_features)


def run_multihead_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight,
    query, key, value, is_causal,
):
    mha = move(MultiHeadAttention(d_model, d_model, query.shape[-2], num_heads), query)
    mha.load(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return mha(query, key, value, causal=is_causal)


def run_parameter_count(d_in, d_out, qkv_bias, out_bias):
    mha = MultiHeadAttention(d_in, d_out, 1, 1, qkv_bias, out_bias)
    return mha.num_parameters()


def run_sinusoidal_positional_encoding(seq_len, d_model):
    return sinusoidal(seq_len, d_model)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    freqs_cis = precompute_freqs_cis(d_k, max_seq_len, theta).to(in_query_or_key.device)
    return apply_rope(in_query_or_key, freqs_cis[token_positions])


def run_multihead_self_attention_with_rope(
    d_model, num_heads, max_seq_len, theta,
    q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight,
    in_features, token_positions=None,
):
    rope_mha = RoPEMultiHeadAttention(d_model, d_model, max_seq_len, num_heads, theta)
    rope_mha = move(rope_mha, in_features)
    rope_mha.load(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return rope_mha(in_features, token_positions)
