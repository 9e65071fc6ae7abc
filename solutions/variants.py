"""Right answers written in other ways than the references, which all tests must pass."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from einops import einsum, rearrange
from torch import Tensor, nn

from .answers import EXERCISES, Answer, answer
from .parts import Parts


@dataclass(frozen=True, slots=True)
class Variant:
    """A way of writing the assignment, in which some parts differ from the references'."""

    name: str
    parts: Parts = field(repr=False)

    @property
    def functions(self) -> Mapping[str, Answer]:
        """Functions with the parameters of the adapters, by exercise."""
        return {exercise: answer(exercise, self.parts) for exercise in EXERCISES}


# --- With what torch has ------------------------------------------------------------------------


def _lower_triangle(seq_len: int) -> Tensor:
    return torch.ones(seq_len, seq_len, dtype=torch.bool).tril()


def _torch_kept(weights: Tensor, p: float) -> Tensor:
    return nn.functional.dropout(torch.ones_like(weights), p) != 0


def _counted_layers(d_in: int, d_out: int, bias: bool, layers: int) -> int:
    with torch.device("meta"):
        module = nn.ModuleList(nn.Linear(d_in, d_out, bias) for _ in range(layers))
    return sum(parameter.numel() for parameter in module.parameters())


def _counted_inputs(d_in: int, d_out: int, bias: bool) -> int:
    return _counted_layers(d_in, d_out, bias, 3)


def _counted_output(_d_in: int, d_out: int, bias: bool) -> int:
    return _counted_layers(d_out, d_out, bias, 1)


def _each_twice(vectors: Tensor, angles: Tensor) -> Tensor:
    cos, sin = (f(angles).repeat_interleave(2, dim=-1) for f in (torch.cos, torch.sin))
    first, second = vectors.unflatten(-1, (-1, 2)).unbind(-1)
    return vectors * cos + torch.stack((-second, first), dim=-1).flatten(-2) * sin


_WITH_TORCH = Parts(
    softmax=torch.softmax,
    causal_mask=_lower_triangle,
    project=nn.functional.linear,
    project_output=nn.functional.linear,
    multiply=torch.matmul,
    kept=_torch_kept,
    count_inputs=_counted_inputs,
    count_output=_counted_output,
    rotate=_each_twice,
)


# --- By the names of the axes -------------------------------------------------------------------


def _by_logarithm(in_features: Tensor, dim: int) -> Tensor:
    return torch.exp(in_features - torch.logsumexp(in_features, dim, keepdim=True))


def _summed_over_features(queries: Tensor, keys: Tensor) -> Tensor:
    return einsum(queries, keys, "... query d, ... key d -> ... query key")


def _times_power(scores: Tensor, d_k: int, _width: int) -> Tensor:
    return scores * d_k**-0.5


def _plus_minus_infinity(scaled: Tensor, mask: Tensor) -> Tensor:
    return scaled + torch.zeros_like(scaled).masked_fill(~mask, -torch.inf)


def _cut_by_name(features: Tensor, num_heads: int) -> Tensor:
    return rearrange(features, "... seq (head d) -> ... head seq d", head=num_heads)


def _merged_by_name(heads: Tensor) -> Tensor:
    return rearrange(heads, "... head seq d -> ... seq (head d)")


def _as_complex_numbers(vectors: Tensor, angles: Tensor) -> Tensor:
    precise = vectors.to(angles.dtype)
    pairs = rearrange(precise, "... (k two) -> ... k two", two=2).contiguous()
    ones = torch.ones_like(angles)
    turned = torch.view_as_real(torch.view_as_complex(pairs) * torch.polar(ones, angles))
    return rearrange(turned, "... k two -> ... (k two)")


_BY_NAMES = Parts(
    softmax=_by_logarithm,
    similarity=_summed_over_features,
    scale=_times_power,
    mask_scores=_plus_minus_infinity,
    split_heads=_cut_by_name,
    merge_heads=_merged_by_name,
    rotate=_as_complex_numbers,
)


# --- Piece by piece -----------------------------------------------------------------------------


def _lowest_where_hidden(scaled: Tensor, mask: Tensor) -> Tensor:
    lowest = torch.full_like(scaled, torch.finfo(scaled.dtype).min)
    return torch.where(mask, scaled, lowest)


def _hidden_again(weights: Tensor, mask: Tensor) -> Tensor:
    return weights * mask


def _stacked_slices(features: Tensor, num_heads: int) -> Tensor:
    return torch.stack(features.chunk(num_heads, dim=-1), dim=-3)


def _side_by_side(heads: Tensor) -> Tensor:
    return torch.cat(heads.unbind(-3), dim=-1)


def _by_matrices(vectors: Tensor, angles: Tensor) -> Tensor:
    cos, sin = torch.cos(angles), torch.sin(angles)
    matrices = torch.stack((torch.stack((cos, -sin), -1), torch.stack((sin, cos), -1)), -2)
    pairs = vectors.unflatten(-1, (-1, 2)).unsqueeze(-1).to(angles.dtype)
    return (matrices @ pairs).flatten(-3)


def _filled_in(sines: Tensor, cosines: Tensor) -> Tensor:
    table = torch.empty(len(sines), 2 * sines.shape[-1], dtype=sines.dtype)
    table[:, 0::2], table[:, 1::2] = sines, cosines
    return table


def _exponential_of_logarithm(first_of_pair: Tensor, d_k: int, theta: float) -> Tensor:
    return torch.exp(-first_of_pair / d_k * math.log(theta))


_PIECE_BY_PIECE = Parts(
    mask_scores=_lowest_where_hidden,
    mask_weights=_hidden_again,
    split_heads=_stacked_slices,
    merge_heads=_side_by_side,
    rope_frequencies=_exponential_of_logarithm,
    rotate=_by_matrices,
    arrange_waves=_filled_in,
)

VARIANTS = (
    Variant("with what torch has", _WITH_TORCH),
    Variant("by the names of the axes", _BY_NAMES),
    Variant("piece by piece", _PIECE_BY_PIECE),
)
