"""The parts of the model's answers; a known mistake replaces some of them."""

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from . import steps

InOrder = Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor, Tensor]]


def unobserved(_name: str, step: Tensor, *_forms: Tensor) -> Tensor:
    """Passes a step on; a function that keeps steps may replace this one."""
    return step


@dataclass(frozen=True, slots=True)
class Parts:
    """The functions behind the answers: right ones by default.

    `step` is called with every step's name, tensor and other forms, and its result is used.
    """

    step: Callable[..., Tensor] = unobserved

    multiply: Callable[[Tensor, Tensor], Tensor] = steps.multiply_transposed
    look_up: Callable[[Tensor, Tensor], Tensor] = steps.look_up
    activate: Callable[[Tensor], Tensor] = steps.silu
    feed_weights_in_order: InOrder = steps.in_order
    gate: Callable[[Tensor, Tensor], Tensor] = steps.gate
    mean_square: Callable[[Tensor], Tensor] = steps.mean_square
    divide_by_root: Callable[[Tensor, Tensor, float], Tensor] = steps.divide_by_root
    gain: Callable[[Tensor, Tensor], Tensor] = steps.gain
    softmax: Callable[[Tensor, int], Tensor] = steps.softmax

    similarity: Callable[[Tensor, Tensor], Tensor] = steps.similarity
    scale: Callable[[Tensor, int, int], Tensor] = steps.scale
    mask_scores: Callable[[Tensor, Tensor], Tensor] = steps.mask_scores
    axis_of_keys: int = -1
    mask_weights: Callable[[Tensor, Tensor], Tensor] = steps.mask_weights
    causal_mask: Callable[[int], Tensor] = steps.causal_mask
    mask_at_positions: Callable[[Tensor, Tensor], Tensor] = steps.mask_as_given
    unasked_mask: Callable[[int, int], Tensor | None] = steps.no_mask
    tensors_in_order: InOrder = steps.in_order

    project: Callable[[Tensor, Tensor], Tensor] = steps.multiply_transposed
    project_output: Callable[[Tensor, Tensor], Tensor] = steps.multiply_transposed
    projections_in_order: InOrder = steps.in_order
    split_heads: Callable[[Tensor, int], Tensor] = steps.split_heads
    merge_heads: Callable[[Tensor], Tensor] = steps.merge_heads

    positions_in_table: Callable[[Tensor], Tensor] = steps.as_given
    rope_positions: Callable[[Tensor], Tensor] = steps.as_given
    rope_frequencies: Callable[[Tensor, int, float], Tensor] = steps.rope_frequencies
    rotate: Callable[[Tensor, Tensor], Tensor] = steps.rotate
    rotated_roles: tuple[str, ...] = ("queries", "keys")
    multihead_positions: Callable[[Tensor], Tensor] = steps.as_given
    positions_by_default: Callable[[Tensor], Tensor] = steps.as_given

    arrange_block: Callable[..., Tensor] = steps.pre_norm
    norms_in_order: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]] = steps.norms_in_order
    arrange_model: Callable[..., Tensor] = steps.bottom_up
    weights_of_block: Callable[[int, int], int] = steps.own_layer
    head_weight: Callable[[Tensor, Tensor], Tensor] = steps.own_head

    surprise: Callable[[Tensor, Tensor], Tensor] = steps.surprise
    average: Callable[[Tensor, Tensor], Tensor] = steps.average
