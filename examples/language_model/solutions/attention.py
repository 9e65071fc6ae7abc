"""Model answers on attention: of one head, of several, and with positions."""

import torch
from torch import Tensor

from .parts import Parts, unobserved


def scaled_dot_product_attention(
    parts: Parts, Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None
) -> Tensor:
    """Gives each query the average of the values, weighted by its attention to their keys."""
    return _attend(parts, Q, K, V, mask, width=Q.shape[-1])


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
    weights = parts.projections_in_order(q_proj_weight, k_proj_weight, v_proj_weight)
    heads = _projected_heads(parts, in_features, weights, num_heads)
    return _attended(parts, heads, o_proj_weight)


def rope(
    parts: Parts,
    d_k: int,
    theta: float,
    max_seq_len: int,
    in_query_or_key: Tensor,
    token_positions: Tensor,
) -> Tensor:
    """Rotates the pairs (0, 1), (2, 3), ... of each vector by angles that grow with position."""
    angles = _angles(parts, d_k, theta, max_seq_len, in_query_or_key, token_positions)
    return parts.rotate(in_query_or_key, angles).to(in_query_or_key.dtype)


def multihead_self_attention_with_rope(
    parts: Parts,
    d_model: int,
    num_heads: int,
    max_seq_len: int,
    theta: float,
    q_proj_weight: Tensor,
    k_proj_weight: Tensor,
    v_proj_weight: Tensor,
    o_proj_weight: Tensor,
    in_features: Tensor,
    token_positions: Tensor | None = None,
) -> Tensor:
    """Computes causal multi-head self-attention whose queries and keys are rotated by position."""
    if token_positions is None:
        in_order = torch.arange(in_features.shape[-2], device=in_features.device)
        token_positions = parts.positions_by_default(in_order)
    shared_by_heads = parts.multihead_positions(token_positions).unsqueeze(-2)
    weights = parts.projections_in_order(q_proj_weight, k_proj_weight, v_proj_weight)
    heads = _projected_heads(parts, in_features, weights, num_heads)
    for role in parts.rotated_roles:
        d_k = heads[role].shape[-1]
        turned = rope(parts, d_k, theta, max_seq_len, heads[role], shared_by_heads)
        heads[role] = parts.step(f"rotated {role}", turned)
    return _attended(parts, heads, o_proj_weight, shared_by_heads)


def _attend(
    parts: Parts, Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None, width: int
) -> Tensor:
    """Computes the attention of queries that were made from tokens with `width` features."""
    queries, keys, values = parts.tensors_in_order(Q, K, V)
    scores = parts.step("scores", parts.similarity(queries, keys))
    scores = parts.step("scaled", parts.scale(scores, queries.shape[-1], width))
    if mask is None:
        mask = parts.unasked_mask(*scores.shape[-2:])
    if mask is not None:
        scores = parts.step("masked", parts.mask_scores(scores, mask))
    weights = parts.softmax(scores, parts.axis_of_keys)
    if mask is not None:
        weights = parts.mask_weights(weights, mask)
    return parts.step("weights", weights) @ values


def _projected_heads(
    parts: Parts, in_features: Tensor, weights: tuple[Tensor, ...], num_heads: int
) -> dict[str, Tensor]:
    """Returns the queries, keys and values of every head."""
    heads = {}
    for role, weight in zip(("queries", "keys", "values"), weights, strict=True):
        projected = parts.step(role, parts.project(in_features, weight))
        split = parts.split_heads(projected, num_heads)
        heads[role] = parts.step(f"{role} of the heads", split)
    return heads


def _attended(
    parts: Parts, heads: dict[str, Tensor], o_proj_weight: Tensor, positions: Tensor | None = None
) -> Tensor:
    """Lays the heads' outputs side by side, and mixes them."""
    seq, width = heads["queries"].shape[-2], o_proj_weight.shape[-1]
    mask = parts.causal_mask(seq).to(o_proj_weight.device)
    if positions is not None:
        mask = parts.mask_at_positions(mask, positions)
    found = _attend(parts, heads["queries"], heads["keys"], heads["values"], mask, width)
    merged = parts.step("merged", parts.merge_heads(found))
    return parts.project_output(merged, o_proj_weight)


def _angles(
    parts: Parts, d_k: int, theta: float, max_seq_len: int, vectors: Tensor, positions: Tensor
) -> Tensor:
    """Returns the angle of each pair of each vector, `... seq pairs`, from a table of positions."""
    # Half precision cannot distinguish neighbouring positions.
    precise = torch.promote_types(vectors.dtype, torch.float32)
    first_of_pair = torch.arange(0, d_k, 2, dtype=precise, device=vectors.device)
    frequencies = parts.step("frequencies", parts.rope_frequencies(first_of_pair, d_k, theta))
    in_order = torch.arange(max_seq_len, device=vectors.device)
    table = parts.positions_in_table(in_order)[:, None].to(precise) * frequencies
    angles = table[parts.rope_positions(positions)]
    forms = () if parts.step is unobserved else _forms_of(angles)
    return parts.step("angles", angles, *forms)


def _forms_of(angles: Tensor) -> tuple[Tensor, ...]:
    """Returns the forms in which code also keeps angles: both features of a pair, cos and sin."""
    each = angles.repeat_interleave(2, dim=-1)
    return each, *(torch.stack((one.cos(), one.sin())) for one in (angles, each))
