"""Model answers on positions: sinusoidal encoding, rotary embedding, attention with it."""

import torch
from torch import Tensor

from .attention import attend_causally, merged_and_projected, projected_heads
from .parts import Parts, unobserved


def sinusoidal_positional_encoding(parts: Parts, seq_len: int, d_model: int) -> Tensor:
    """Encodes each position as sines and cosines of slower and slower waves."""
    positions = parts.step("positions", parts.wave_positions(torch.arange(seq_len)))
    if parts.step is not unobserved:
        _name_frequencies(parts, d_model)
    sine_angles, cosine_angles = parts.wave_angles(positions, d_model)
    sines = parts.step("sines", torch.sin(parts.step("angles", sine_angles)))
    cosines = parts.step("cosines", torch.cos(parts.step("angles", cosine_angles)))
    parts.step("angles", torch.stack((sine_angles, cosine_angles), dim=-1).flatten(-2))
    waves = parts.step("waves", parts.arrange_waves(sines, cosines))
    for form in (waves.unflatten(-1, (-1, 2)), waves.unflatten(-1, (2, -1))):
        parts.step("waves", form)
    return waves.to(torch.get_default_dtype())


def _name_frequencies(parts: Parts, d_model: int) -> None:
    """Records the frequencies of waves: their angles at position 1."""
    for angles in parts.wave_angles(torch.ones(1), d_model):
        for form in (angles[0], 1 / angles[0], angles[0].repeat_interleave(2)):
            parts.step("frequencies", form)


def rope(
    parts: Parts,
    d_k: int,
    theta: float,
    max_seq_len: int,
    in_query_or_key: Tensor,
    token_positions: Tensor,
) -> Tensor:
    """Rotates the pairs (0, 1), (2, 3), ... of each vector by angles that grow with position."""
    angles = rope_angles(parts, d_k, theta, max_seq_len, in_query_or_key, token_positions)
    return rotated(parts, "rotated", in_query_or_key, angles)


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
    W_q, W_k, W_v = parts.weights_in_order(q_proj_weight, k_proj_weight, v_proj_weight)
    heads = {
        "queries": projected_heads(parts, "query", in_features, W_q, num_heads),
        "keys": projected_heads(parts, "key", in_features, W_k, num_heads),
        "values": projected_heads(parts, "value", in_features, W_v, num_heads),
    }
    d_head = heads["queries"].shape[-1]
    for role in parts.rotated_roles:
        angles = rope_angles(parts, d_head, theta, max_seq_len, heads[role], shared_by_heads)
        heads[role] = rotated(parts, f"rotated {role}", heads[role], angles)
    outputs = attend_causally(
        parts, heads["queries"], heads["keys"], heads["values"], d_model, shared_by_heads
    )
    return merged_and_projected(parts, outputs, o_proj_weight)


def rope_angles(
    parts: Parts, d_k: int, theta: float, max_seq_len: int, vectors: Tensor, positions: Tensor
) -> Tensor:
    """Returns the angle of each pair of each vector, `... seq pairs`, from a table of positions."""
    # Angles reach max_seq_len, where half precision cannot distinguish neighbours.
    precise = torch.promote_types(vectors.dtype, torch.float32)
    first_of_pair = torch.arange(0, d_k, 2, dtype=precise, device=vectors.device)
    frequencies = parts.step("frequencies", parts.rope_frequencies(first_of_pair, d_k, theta))
    for form in (1 / frequencies, frequencies.repeat_interleave(2)):
        parts.step("frequencies", form)
    in_order = torch.arange(max_seq_len, device=vectors.device)
    every_position = parts.step("positions of the table", parts.positions_in_table(in_order))
    table = parts.rope_angles(every_position[..., None].to(precise) * frequencies)
    angles = parts.step("angles", table[parts.rope_positions(positions)])
    if parts.step is not unobserved:
        of_features = angles.repeat_interleave(2, dim=-1), torch.cat((angles, angles), dim=-1)
        for form in (angles, *of_features):
            parts.step("angles", form)
            parts.step("angles", torch.stack((form.cos(), form.sin())))
    return angles


def rotated(parts: Parts, name: str, vectors: Tensor, angles: Tensor) -> Tensor:
    """Rotates vectors by angles, in the vectors' precision."""
    turned = parts.step(name, parts.rotate(vectors, angles).to(vectors.dtype))
    if parts.step is not unobserved:
        pairs, halves = turned.unflatten(-1, (-1, 2)), turned.unflatten(-1, (2, -1))
        for form in (pairs, halves, pairs.movedim(-1, 0), halves.movedim(-2, 0)):
            parts.step(name, form)
    return turned
