"""Model answers on attention proper: one head, many heads, self- and cross-attention."""

import torch
from torch import Tensor

from .parts import Parts
from .warmup import attend, projected


def scaled_dot_product_attention(
    parts: Parts, Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None
) -> Tensor:
    """Gives each query the average of the values, weighted by its attention to their keys."""
    return attend(parts, Q, K, V, mask, width=Q.shape[-1])


def causal_self_attention(
    parts: Parts, W_query: Tensor, W_key: Tensor, W_value: Tensor, in_features: Tensor
) -> Tensor:
    """Attends from every token to itself and to earlier tokens."""
    queries, keys, values = projected(parts, W_query, W_key, W_value, in_features)
    return attend_causally(parts, queries, keys, values, in_features.shape[-1])


def multihead_attention_stacked(
    parts: Parts, W_query: Tensor, W_key: Tensor, W_value: Tensor, in_features: Tensor
) -> Tensor:
    """Runs one causal head per slice of the weights and lays their outputs side by side."""
    W_query, W_key, W_value = map(parts.stacked_weights, (W_query, W_key, W_value))
    shared = in_features.unsqueeze(-3)  # one axis of size 1, for multiplication by every head
    queries, keys, values = projected(parts, W_query, W_key, W_value, shared)
    heads = attend_causally(parts, queries, keys, values, in_features.shape[-1])
    outputs = parts.step("outputs", heads)
    return parts.step("merged", parts.merge_heads(outputs))


def multihead_self_attention(
    parts: Parts,
    d_model: int,
    num_heads: int,
    q_proj_weight: Tensor,
    k_proj_weight: Tensor,
    v_proj_weight: Tensor,
    o_proj_weight: Tensor,
    in_features: Tensor,
) -> Tensor:
    """Computes causal multi-head attention of a sequence to itself."""
    return multihead_attention(
        parts,
        d_model,
        num_heads,
        q_proj_weight,
        k_proj_weight,
        v_proj_weight,
        o_proj_weight,
        query=in_features,
        key=in_features,
        value=in_features,
        is_causal=True,
    )


def multihead_attention(
    parts: Parts,
    d_model: int,
    num_heads: int,
    q_proj_weight: Tensor,
    k_proj_weight: Tensor,
    v_proj_weight: Tensor,
    o_proj_weight: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    is_causal: bool,
) -> Tensor:
    """Computes multi-head attention between two sequences, each head on its block of features."""
    W_q, W_k, W_v = parts.weights_in_order(q_proj_weight, k_proj_weight, v_proj_weight)
    query, key, value = parts.inputs_in_order(query, key, value)
    queries = projected_heads(parts, "query", query, W_q, num_heads)
    keys = projected_heads(parts, "key", key, W_k, num_heads)
    values = projected_heads(parts, "value", value, W_v, num_heads)
    if is_causal:
        heads = attend_causally(parts, queries, keys, values, d_model)
    else:
        mask = parts.unasked_mask(queries.shape[-2], keys.shape[-2])
        heads = attend(parts, queries, keys, values, mask, d_model)
    return merged_and_projected(parts, heads, o_proj_weight)


def parameter_count(parts: Parts, d_in: int, d_out: int, qkv_bias: bool, out_bias: bool) -> int:
    """Counts the parameters of the three projections and of the output's."""
    inputs = parts.step("input projections", parts.count_inputs(d_in, d_out, qkv_bias))
    output = parts.step("output projection", parts.count_output(d_in, d_out, out_bias))
    total: int = inputs + output
    return total


def attend_causally(
    parts: Parts,
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    width: int,
    positions: Tensor | None = None,
) -> Tensor:
    """Computes scaled dot-product attention in which no token sees a later one."""
    mask = parts.causal_mask(queries.shape[-2]).to(queries.device)
    if positions is not None:
        mask = parts.mask_at_positions(mask, positions)
    parts.step("mask", mask)
    for form in (~mask, torch.where(mask, 0.0, -torch.inf)):
        parts.step("mask", form)
    return attend(parts, queries, keys, values, mask, width)


def projected_heads(
    parts: Parts, role: str, features: Tensor, weight: Tensor, num_heads: int
) -> Tensor:
    """Projects tokens to the queries, keys or values (the role) of every head."""
    plural = {"query": "queries", "key": "keys", "value": "values"}[role]
    all_heads = parts.step(plural, parts.project(features, weight))
    return parts.step(f"{role} heads", parts.split_heads(all_heads, num_heads))


def merged_and_projected(parts: Parts, heads: Tensor, o_proj_weight: Tensor) -> Tensor:
    """Lays the heads' outputs side by side, and mixes them."""
    outputs = parts.step("outputs", heads)
    merged = parts.step("merged", parts.merge_heads(outputs))
    return parts.step("projected", parts.project_output(merged, o_proj_weight))
