"""The parts of the answers; a known mistake replaces some of them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from . import steps

InOrder = Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor, Tensor]]


def unobserved(_name: str, step: Any) -> Any:
    """Passes a step on; a function that keeps steps may replace this one."""
    return step


@dataclass(frozen=True, slots=True)
class Parts:
    """The functions behind the answers: right ones by default.

    `step` is called with every step's name and tensor, and its result is used. The names are:

    - for attention: `queries`, `keys`, `values`, `query heads`, `key heads`, `value heads`,
      `rotated queries`, `rotated keys`, `rotated values`, `mask`, `scores`, `scaled`, `masked`,
      `weights`, `outputs` (of several heads), `merged` and `projected`;
    - for positions: `positions`, `frequencies`, `angles`, `sines`, `cosines`, `waves`, `rotated`;
    - for counting, whose steps are numbers: `input projections` and `output projection`.

    A step with several forms in people's code is named once for each form. Each form is the whole
    step. Parts that people keep apart lie along its first axis. Examples are the cosines and sines
    of angles, and the even and odd features of a rotation.
    """

    step: Callable[[str, Any], Any] = unobserved

    softmax: Callable[[Tensor, int], Tensor] = steps.softmax
    similarity: Callable[[Tensor, Tensor], Tensor] = steps.similarity
    scale: Callable[[Tensor, int, int], Tensor] = steps.scale
    scale_unweighted: Callable[[Tensor, int], Tensor] = steps.scale_unweighted
    mask_scores: Callable[[Tensor, Tensor], Tensor] = steps.mask_scores
    axis_of_keys: int = -1
    mask_weights: Callable[[Tensor, Tensor], Tensor] = steps.mask_weights
    causal_mask: Callable[[int], Tensor] = steps.causal_mask
    mask_at_positions: Callable[[Tensor, Tensor], Tensor] = steps.mask_as_given
    unasked_mask: Callable[[int, int], Tensor | None] = steps.no_mask

    weights_in_order: InOrder = steps.in_order
    inputs_in_order: InOrder = steps.in_order
    tensors_in_order: InOrder = steps.in_order
    multiply: Callable[[Tensor, Tensor], Tensor] = steps.multiply
    project: Callable[[Tensor, Tensor], Tensor] = steps.multiply_transposed
    project_output: Callable[[Tensor, Tensor], Tensor] = steps.multiply_transposed
    stacked_weights: Callable[[Tensor], Tensor] = steps.own_weights
    split_heads: Callable[[Tensor, int], Tensor] = steps.split_heads
    merge_heads: Callable[[Tensor], Tensor] = steps.merge_heads

    positions_in_table: Callable[[Tensor], Tensor] = steps.as_given
    rope_positions: Callable[[Tensor], Tensor] = steps.as_given
    rope_frequencies: Callable[[Tensor, int, float], Tensor] = steps.rope_frequencies
    rope_angles: Callable[[Tensor], Tensor] = steps.radians
    rotate: Callable[[Tensor, Tensor], Tensor] = steps.rotate
    rotated_roles: tuple[str, ...] = ("queries", "keys")
    multihead_positions: Callable[[Tensor], Tensor] = steps.as_given
    positions_by_default: Callable[[Tensor], Tensor] = steps.as_given
    wave_positions: Callable[[Tensor], Tensor] = steps.as_given
    wave_angles: Callable[[Tensor, int], tuple[Tensor, Tensor]] = steps.wave_angles
    arrange_waves: Callable[[Tensor, Tensor], Tensor] = steps.side_by_side

    drops: Callable[[float, bool], bool] = steps.drops
    kept: Callable[[Tensor, float], Tensor] = steps.kept
    rescale: Callable[[Tensor, float], Tensor] = steps.rescale
    count_inputs: Callable[[int, int, bool], int] = steps.count_inputs
    count_output: Callable[[int, int, bool], int] = steps.count_output
