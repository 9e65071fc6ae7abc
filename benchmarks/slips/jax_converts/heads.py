"""Attention with parameters: dicts of kernels go in, arrays come out, nothing is kept."""

import math
from functools import partial

import torch
from torch.func import vmap

import ops
import rotary

# --- kernels of shape (in, out), applied from the right ---


def qkv_params(w_query, w_key, w_value):
    return {"query": w_query, "key": w_key, "value": w_value}


def single_head(params, x, mask=None):
    query = torch.einsum("...sm,md->...sd", x, params["query"])
    key = torch.einsum("...sm,md->...sd", x, params["key"])
    value = torch.einsum("...sm,md->...sd", x, params["value"])
    return ops.dot_product_attention(query, key, value, mask)


def causal_single_head(params, x):
    mask = ops.causal_mask(x.shape[-2], device=x.device)
    return single_head(params, x, mask=mask)


def stacked_heads(params, x):
    per_head = vmap(causal_single_head, in_dims=(0, None), out_dims=-2)
    outputs = per_head(params, x)
    return outputs.reshape(*x.shape[:-1], -1)


# --- one kernel for all heads, as torch.nn.Linear keeps it ---


def multi_head_params(num_heads, q_weight, k_weight, v_weight, o_weight):
    d_model = q_weight.shape[-1]
    head_dim = d_model // num_heads
    by_rows = partial(torch.reshape, shape=(num_heads, head_dim, d_model))
    return {
        "query": by_rows(q_weight),
        "key": by_rows(k_weight),
        "value": by_rows(v_weight),
        "out": o_weight.reshape(d_model, num_heads, head_dim),
    }


def to_heads(kernel, x):
    return torch.einsum("hdm,...sm->...hsd", kernel, x)


def from_heads(kernel, y):
    return torch.einsum("mhd,...hsd->...sm", kernel, y)


def identity(x):
    return x


def multi_head(params, inputs_q, inputs_k, inputs_v, mask=None, rotate=identity):
    query = rotate(to_heads(params["query"], inputs_q))
    key = rotate(to_heads(params["key"], inputs_k))
    value = to_heads(params["value"], inputs_v)
    per_head = ops.dot_product_attention(query, key, value, mask)
    return from_heads(params["out"], per_head)


def cross_attention(params, inputs_q, inputs_k, inputs_v, is_causal):
    mask = None
    if is_causal:
        mask = ops.causal_mask(inputs_q.shape[-2], device=inputs_q.device)
    return multi_head(params, inputs_q, inputs_k, inputs_v, mask)


def self_attention(params, x, rotate=identity):
    mask = ops.causal_mask(x.shape[-2], device=x.device)
    return multi_head(params, x, x, x, mask=mask, rotate=rotate)


def rotary_self_attention(params, x, base, max_len, positions=None):
    head_dim = params["query"].shape[1]
    if positions is None:
        positions = torch.arange(x.shape[-2], device=x.device)
    table = rotary.angle_table(max_len, head_dim, base, x.device)
    one_head = partial(rotary.rotate, angles=rotary.take(table, positions))
    all_heads = vmap(one_head, in_dims=-3, out_dims=-3)
    return self_attention(params, x, rotate=all_heads)


# --- the parameters as a tree of shapes ---


def dense_shapes(fan_in, fan_out, use_bias):
    shapes = {"kernel": (fan_in, fan_out)}
    if use_bias:
        shapes["bias"] = (fan_out,)
    return shapes


def multi_head_shapes(d_in, d_out, qkv_bias, out_bias):
    tree = {name: dense_shapes(d_in, d_out, qkv_bias) for name in ("query", "key", "value")}
    tree["out"] = dense_shapes(d_out, d_out, out_bias)
    return tree


def tree_size(tree):
    if isinstance(tree, dict):
        return sum(tree_size(branch) for branch in tree.values())
    return math.prod(tree)
