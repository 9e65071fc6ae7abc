"""Attention with one head, with several, and from one sequence to another."""

import torch

from rotary import default_positions, rotate
from softmax import (
    attention_weights,
    causal_mask,
    check_last_axes,
    check_shape,
    dot_products,
    softmax,
)


# ---------------------------------------------------------------- one head


def attend(queries, keys, values, allowed=None):
    assert keys.shape[-2] == values.shape[-2], "one value per key"
    weights = attention_weights(queries=queries, keys=keys, allowed=allowed)
    context = torch.matmul(weights, values)
    expected = (queries.shape[-2], values.shape[-1])
    check_last_axes(tensor=context, expected=expected, name="context")
    return context


def simple_self_attention(tokens):
    scores = dot_products(queries=tokens, keys=tokens)
    weights = softmax(values=scores, dim=-1)
    context = torch.matmul(weights, tokens)
    check_shape(tensor=context, expected=tokens.shape, name="context")
    return context


def project(tokens, matrix):
    """Matrices that multiply from the right, (d_in, d_out)."""
    assert matrix.dim() == 2, "one matrix at a time"
    return torch.matmul(tokens, matrix)


def self_attention(W_query, W_key, W_value, tokens, allowed=None):
    queries = project(tokens=tokens, matrix=W_query)
    keys = project(tokens=tokens, matrix=W_key)
    values = project(tokens=tokens, matrix=W_value)
    return attend(queries=queries, keys=keys, values=values, allowed=allowed)


def causal_self_attention(W_query, W_key, W_value, tokens):
    allowed = causal_mask(seq_len=tokens.shape[-2], device=tokens.device)
    return self_attention(
        W_query=W_query, W_key=W_key, W_value=W_value, tokens=tokens, allowed=allowed
    )


# ---------------------------------------------------------------- several heads at once


def linear(tokens, weight):
    """As torch.nn.Linear: the weight is (d_out, d_in)."""
    assert tokens.shape[-1] == weight.shape[1], "the weight does not fit the tokens"
    return torch.matmul(tokens, weight.T)


def head_size(d_model, num_heads):
    assert d_model % num_heads == 0, "the heads must have the same size"
    return d_model // num_heads


def split_heads(features, num_heads):
    """(..., seq, d_model) -> (..., heads, seq, d_head)"""
    seq_len, d_model = features.shape[-2:]
    d_head = head_size(d_model=d_model, num_heads=num_heads)
    split = features.reshape(*features.shape[:-1], num_heads, d_head)
    split = split.transpose(-3, -2)
    check_last_axes(tensor=split, expected=(num_heads, seq_len, d_head), name="split")
    return split


def merge_heads(contexts):
    """(..., heads, seq, d_head) -> (..., seq, d_model)"""
    num_heads, seq_len, d_head = contexts.shape[-3:]
    merged = contexts.transpose(-3, -2)
    merged = merged.reshape(*merged.shape[:-2], num_heads * d_head)
    check_last_axes(tensor=merged, expected=(seq_len, num_heads * d_head), name="merged")
    return merged


def multihead_attention_stacked(W_query, W_key, W_value, tokens):
    num_heads, d_in, d_head = W_query.shape
    assert tokens.shape[-1] == d_in, "the matrices do not fit the tokens"
    # (..., 1, seq, d_in) @ (heads, d_in, d_head) -> (..., heads, seq, d_head)
    for_all_heads = tokens.unsqueeze(dim=-3)
    queries = torch.matmul(for_all_heads, W_query)
    keys = torch.matmul(for_all_heads, W_key)
    values = torch.matmul(for_all_heads, W_value)
    expected = (num_heads, tokens.shape[-2], d_head)
    check_last_axes(tensor=values, expected=expected, name="values")

    allowed = causal_mask(seq_len=tokens.shape[-2], device=tokens.device)
    contexts = attend(queries=queries, keys=keys, values=values, allowed=allowed)
    return merge_heads(contexts=contexts)


def multihead_attention(num_heads, W_q, W_k, W_v, W_o, query, key, value, is_causal):
    queries = split_heads(features=linear(tokens=query, weight=W_q), num_heads=num_heads)
    keys = split_heads(features=linear(tokens=key, weight=W_k), num_heads=num_heads)
    values = split_heads(features=linear(tokens=value, weight=W_v), num_heads=num_heads)

    allowed = None
    if is_causal:
        assert query.shape[-2] == key.shape[-2], "causal needs sequences of the same length"
        allowed = causal_mask(seq_len=query.shape[-2], device=query.device)

    contexts = attend(queries=queries, keys=keys, values=values, allowed=allowed)
    return linear(tokens=merge_heads(contexts=contexts), weight=W_o)


# ---------------------------------------------------------------- several heads, one by one


def rows_of_head(weight, head, d_head):
    start = head * d_head
    rows = weight[start : start + d_head]
    check_shape(tensor=rows, expected=(d_head, weight.shape[1]), name="rows")
    return rows


def one_rotated_head(tokens, W_q, W_k, W_v, positions, theta):
    queries = linear(tokens=tokens, weight=W_q)
    keys = linear(tokens=tokens, weight=W_k)
    values = linear(tokens=tokens, weight=W_v)
    queries = rotate(vectors=queries, positions=positions, theta=theta)
    keys = rotate(vectors=keys, positions=positions, theta=theta)
    allowed = causal_mask(seq_len=tokens.shape[-2], device=tokens.device)
    return attend(queries=queries, keys=keys, values=values, allowed=allowed)


def multihead_self_attention_with_rope(
    d_model, num_heads, theta, W_q, W_k, W_v, W_o, tokens, positions=None
):
    if positions is None:
        positions = default_positions(tokens=tokens)
    check_last_axes(tensor=positions, expected=(tokens.shape[-2],), name="positions")

    d_head = head_size(d_model=d_model, num_heads=num_heads)
    contexts = []
    for head in range(num_heads):
        context = one_rotated_head(
            tokens=tokens,
            W_q=rows_of_head(weight=W_q, head=head, d_head=d_head),
            W_k=rows_of_head(weight=W_k, head=head, d_head=d_head),
            W_v=rows_of_head(weight=W_v, head=head, d_head=d_head),
            positions=positions,
            theta=theta,
        )
        contexts.append(context)
    side_by_side = torch.cat(contexts, dim=-1)
    check_shape(tensor=side_by_side, expected=tokens.shape, name="side_by_side")
    return linear(tokens=side_by_side, weight=W_o)


# ---------------------------------------------------------------- counting


def linear_parameters(d_in, d_out, bias):
    weights = d_in * d_out
    biases = d_out if bias else 0
    return weights + biases


def parameter_count(d_in, d_out, qkv_bias, out_bias):
    projections = 3 * linear_parameters(d_in=d_in, d_out=d_out, bias=qkv_bias)
    output = linear_parameters(d_in=d_out, d_out=d_out, bias=out_bias)
    return projections + output
