import math
from functools import partial, reduce

import torch

compose = lambda *fs: lambda x: reduce(lambda y, f: f(y), fs, x)
T = lambda x: x.transpose(-2, -1)
swap = lambda x: x.transpose(-3, -2)

stable = lambda x, dim: x - x.amax(dim, keepdim=True)
normed = lambda e, dim: e / e.sum(dim, keepdim=True)
run_softmax = lambda in_features, dim: normed(stable(in_features, dim).exp(), dim)
over_keys = partial(run_softmax, dim=-1)

run_causal_mask = lambda seq_len: torch.ones(seq_len, seq_len).tril() > 0
causal_for = lambda x: run_causal_mask(x.size(-2))

scores = lambda q, k: q @ T(k) / math.sqrt(k.size(-1))
hide = lambda s, mask: s if mask is None else s + torch.zeros_like(s).masked_fill(~mask, -math.inf)
run_attention_weights = lambda Q, K, mask=None: over_keys(hide(scores(Q, K), mask))
run_scaled_dot_product_attention = lambda Q, K, V, mask=None: run_attention_weights(Q, K, mask) @ V
sdpa = run_scaled_dot_product_attention

run_simple_self_attention = lambda in_features: over_keys(in_features @ T(in_features)) @ in_features


def run_self_attention(W_query, W_key, W_value, in_features):
    return sdpa(*(in_features @ W for W in (W_query, W_key, W_value)))


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    return sdpa(*(in_features @ W for W in (W_query, W_key, W_value)), causal_for(in_features))


def run_multihead_attention_stacked(W_query, W_key, W_value, in_features):
    return join(run_causal_self_attention(W_query, W_key, W_value, in_features.unsqueeze(-3)))


run_attention_dropout = lambda weights, p, training: (
    weights * (torch.rand_like(weights) >= p) / (1 - p) if training else weights
)

linear = lambda W, x: x @ W.T
split = lambda h, x: swap(x.unflatten(-1, (h, -1)))
join = lambda x: swap(x).flatten(-2)


def mha(h, Ws, Wo, xs, mask=None, turn=lambda x: x):
    q, k, v = (compose(partial(linear, W), partial(split, h))(x) for W, x in zip(Ws, xs))
    return compose(join, partial(linear, Wo))(sdpa(turn(q), turn(k), v, mask))


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    Ws = q_proj_weight, k_proj_weight, v_proj_weight
    return mha(num_heads, Ws, o_proj_weight, [in_features] * 3, causal_for(in_features))


def run_multihead_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, query, key, value, is_causal
):
    Ws = q_proj_weight, k_proj_weight, v_proj_weight
    return mha(num_heads, Ws, o_proj_weight, (query, key, value), causal_for(query) if is_causal else None)


run_parameter_count = lambda d_in, d_out, qkv_bias, out_bias: (
    3 * d_out * (d_in + qkv_bias) + d_out * (d_out + out_bias)
)

freqs = lambda d, base: torch.tensor([base ** (-i / d) for i in range(0, d, 2)])
phases = lambda pos, d, base: pos.unsqueeze(-1) * freqs(d, base).to(pos.device)
weave = lambda a, b: torch.stack((a, b), -1).flatten(-2)
sincos = lambda a: (a.sin(), a.cos())

run_sinusoidal_positional_encoding = lambda seq_len, d_model: weave(
    *sincos(phases(torch.arange(seq_len), d_model, 1e4))
)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    s, c = (t.to(in_query_or_key) for t in sincos(phases(token_positions, d_k, theta)))
    a, b = in_query_or_key[..., ::2], in_query_or_key[..., 1::2]
    return weave(a * c - b * s, a * s + b * c)


def run_multihead_self_attention_with_rope(
    d_model, num_heads, max_seq_len, theta,
    q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features, token_positions=None,
):
    pos = torch.arange(in_features.size(-2)) if token_positions is None else token_positions
    turn = lambda x: run_rope(d_model // num_heads, theta, max_seq_len, x, pos.unsqueeze(-2))
    Ws = q_proj_weight, k_proj_weight, v_proj_weight
    return mha(num_heads, Ws, o_proj_weight, [in_features] * 3, causal_for(in_features), turn)
