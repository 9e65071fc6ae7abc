"""The fifteen functions of the assignment. Formulas without heads and weights are in maths.py.

I wrote the heads in three ways to see which one I like: by reshaping x (self-attention), with
projection operators (cross-attention) and by reshaping the weights (RoPE). They agree.
"""

import math

import torch
from torch import einsum

import maths
from maths import attend, barrier, merge, past, softmax, split

# ---------------------------------------------------------------- 1. warm-up


def run_softmax(in_features, dim):
    return softmax(in_features, dim)


def run_simple_self_attention(in_features):
    x = in_features
    S = einsum("...id,...jd->...ij", x, x)
    A = softmax(S, dim=-1)
    return einsum("...ij,...jd->...id", A, x)


def run_self_attention(W_query, W_key, W_value, in_features):
    x = in_features
    Q = x @ W_query
    K = x @ W_key
    V = x @ W_value
    d_out = W_query.shape[-1]
    S = Q @ K.mT / math.sqrt(d_out)
    A = softmax(S, dim=-1)
    return A @ V


def run_causal_mask(seq_len):
    return past(seq_len)


def run_attention_weights(Q, K, mask=None):
    return maths.attention(Q, K, mask)


def run_attention_dropout(weights, p, training):
    if not training or p == 0:
        return weights
    kill = maths.bernoulli(p)
    return kill(weights)


# ---------------------------------------------------------------- 2. attention


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return attend(Q, K, V, mask)


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    x = in_features
    Q, K, V = (einsum("...nd,de->...ne", x, W) for W in (W_query, W_key, W_value))
    dk = K.shape[-1]
    S = maths.overlap(Q, K) / dk**0.5
    S = S - barrier(S)
    A = softmax(S)
    return maths.expectation(A, V)


def run_multihead_attention_stacked(W_query, W_key, W_value, in_features):
    # one more index h on every W, the rest is as for one head
    def project(W):
        return einsum("...nd,hde->...hne", in_features, W)

    n = in_features.shape[-2]
    M = past(n, in_features.device)
    Q, K, V = project(W_query), project(W_key), project(W_value)
    Y = attend(Q, K, V, M)
    return merge(Y)


def run_multihead_self_attention(
    d_model,
    num_heads,
    q_proj_weight,
    k_proj_weight,
    v_proj_weight,
    o_proj_weight,
    in_features,
):
    x, h = in_features, num_heads
    assert d_model % h == 0
    n = x.shape[-2]
    Q = split(x @ q_proj_weight.T, h)
    K = split(x @ k_proj_weight.T, h)
    V = split(x @ v_proj_weight.T, h)
    Y = attend(Q, K, V, past(n, x.device))
    Y = merge(Y)
    return Y @ o_proj_weight.T


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
    # Heads by projection operators: P[h] keeps the features of head h, so
    #   S_h = Q P_h K^T,   Y = sum_h A_h V P_h,   and nobody has to transpose anything.
    d, h = d_model, num_heads
    Q = einsum("...qd,fd->...qf", query, q_proj_weight)
    K = einsum("...kd,fd->...kf", key, k_proj_weight)
    V = einsum("...kd,fd->...kf", value, v_proj_weight)
    P = maths.projectors(d, h, like=Q)
    S = einsum("hf,...qf,...kf->...hqk", P, Q, K)
    if is_causal:
        S = S - barrier(S)
    T = math.sqrt(d // h)
    A = maths.gibbs(T)(S)
    Y = einsum("...hqk,...kf,hf->...qf", A, V, P)
    return einsum("...qf,of->...qo", Y, o_proj_weight)


def run_parameter_count(d_in, d_out, qkv_bias, out_bias):
    n_qkv = 3 * d_in * d_out
    n_out = d_out**2
    n_bias = 3 * d_out * qkv_bias + d_out * out_bias
    return n_qkv + n_out + n_bias


# ---------------------------------------------------------------- 3. positions


def run_sinusoidal_positional_encoding(seq_len, d_model):
    return maths.waves(seq_len, d_model)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    rotate = maths.rotor(d_k, theta, max_seq_len)
    return rotate(in_query_or_key, token_positions)


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
    x, d, h = in_features, d_model, num_heads
    n = x.shape[-2]
    e = d // h

    def heads(W):
        # rows of W: head (slow), feature within the head (fast)
        return einsum("...nd,hed->...hne", x, W.reshape(h, e, d))

    m = token_positions
    if m is None:
        m = torch.arange(n, device=x.device)
    m = m[..., None, :]  # same angles in all heads

    rotate = maths.rotor(e, theta, max_seq_len)
    Q = rotate(heads(q_proj_weight), m)
    K = rotate(heads(k_proj_weight), m)
    V = heads(v_proj_weight)

    Y = attend(Q, K, V, M=past(n, x.device))
    W_o = o_proj_weight.reshape(d, h, e)
    return einsum("...hne,ohe->...no", Y, W_o)
