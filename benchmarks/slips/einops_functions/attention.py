import math

import torch
from einops import einsum, rearrange, repeat


def softmax(x, dim):
    x = x - x.amax(dim=dim, keepdim=True)
    exps = torch.exp(x)
    return exps / exps.sum(dim=dim, keepdim=True)


def causal_mask(seq_len, device=None):
    index = torch.arange(seq_len, device=device)
    query_index = rearrange(index, "q -> q 1")
    key_index = rearrange(index, "k -> 1 k")
    return key_index <= query_index


def attention_weights(Q, K, mask=None):
    d_k = Q.shape[-1]
    scores = einsum(Q, K, "... q d, ... k d -> ... q k")
    scores = scores / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return softmax(scores, dim=-1)


def scaled_dot_product_attention(Q, K, V, mask=None):
    weights = attention_weights(Q, K, mask)
    return einsum(weights, V, "... q k, ... k d -> ... q d")


def similarity_attention(x):
    scores = einsum(x, x, "... i d, ... j d -> ... i j")
    weights = softmax(scores, dim=-1)
    return einsum(weights, x, "... i j, ... j d -> ... i d")


def single_head(x, W_query, W_key, W_value, causal):
    q = einsum(x, W_query, "... s i, i o -> ... s o")
    k = einsum(x, W_key, "... s i, i o -> ... s o")
    v = einsum(x, W_value, "... s i, i o -> ... s o")
    mask = causal_mask(x.shape[-2], x.device) if causal else None
    return scaled_dot_product_attention(q, k, v, mask)


def stacked_heads(x, W_query, W_key, W_value):
    q = einsum(x, W_query, "... s i, h i o -> ... h s o")
    k = einsum(x, W_key, "... s i, h i o -> ... h s o")
    v = einsum(x, W_value, "... s i, h i o -> ... h s o")
    mask = causal_mask(x.shape[-2], x.device)
    context = scaled_dot_product_attention(q, k, v, mask)
    return rearrange(context, "... h s o -> ... s (h o)")


def linear(x, weight):
    return einsum(x, weight, "... d_in, d_out d_in -> ... d_out")


def split_heads(x, num_heads):
    return rearrange(x, "... s (h d) -> ... h s d", h=num_heads)


def merge_heads(x):
    return rearrange(x, "... h s d -> ... s (h d)")


def multihead(x, num_heads, w_q, w_k, w_v, w_o):
    q = split_heads(linear(x, w_q), num_heads)
    k = split_heads(linear(x, w_k), num_heads)
    v = split_heads(linear(x, w_v), num_heads)
    mask = causal_mask(x.shape[-2], x.device)
    context = scaled_dot_product_attention(q, k, v, mask)
    return linear(merge_heads(context), w_o)


def frequencies(dim, theta, device=None):
    even = torch.arange(0, dim, 2, device=device)
    return 1.0 / theta ** (even / dim)


def sinusoids(seq_len, d_model):
    positions = torch.arange(seq_len)
    angles = einsum(positions.float(), frequencies(d_model, 10000.0), "s, f -> s f")
    pairs = torch.stack((angles.sin(), angles.cos()))
    return rearrange(pairs, "two s f -> s (f two)")


def rope(x, positions, theta):
    inverse = frequencies(x.shape[-1], theta, x.device)
    angles = einsum(positions.to(inverse.dtype), inverse, "... s, f -> ... s f")
    cos = repeat(angles.cos().to(x.dtype), "... f -> ... (f two)", two=2)
    sin = repeat(angles.sin().to(x.dtype), "... f -> ... (f two)", two=2)
    first, second = rearrange(x, "... (f two) -> two ... f", two=2)
    turned = rearrange([-second, first], "two ... f -> ... (f two)")
    return x * cos + turned * sin


def multihead_with_rope(x, num_heads, w_q, w_k, w_v, w_o, theta, positions=None):
    seq_len = x.shape[-2]
    if positions is None:
        positions = torch.arange(seq_len, device=x.device)
    positions = rearrange(positions, "... s -> ... 1 s")
    q = rope(split_heads(linear(x, w_q), num_heads), positions, theta)
    k = rope(split_heads(linear(x, w_k), num_heads), positions, theta)
    v = split_heads(linear(x, w_v), num_heads)
    mask = causal_mask(seq_len, x.device)
    out = merge_heads(scaled_dot_product_attention(q, k, v, mask))
    return linear(out, w_o)
