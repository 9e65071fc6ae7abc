"""Compares tensors within a tolerance: by how much, how many and where they differ."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy
import torch

from grader.core.verdict import Measurement


@dataclass(frozen=True, slots=True)
class Tolerance:
    """An answer may be off by `atol + rtol * |expected|`, element by element."""

    rtol: float
    atol: float


FLOAT32 = Tolerance(rtol=1.3e-6, atol=1e-5)
FLOAT16 = Tolerance(rtol=1e-3, atol=4e-3)
BFLOAT16 = Tolerance(rtol=1.6e-2, atol=4e-2)


def tolerance_for(dtype: torch.dtype) -> Tolerance:
    """What an honest implementation in this dtype may stray; float64 is not asked for more."""
    return {torch.bfloat16: BFLOAT16, torch.float16: FLOAT16}.get(dtype, FLOAT32)


@dataclass(frozen=True, slots=True)
class Comparison:
    """An answer beside what was expected, element by element, in float64.

    `ratio` is each error as a multiple of what is allowed: 0 where both are alike, infinite where
    no number says how far the answer is off. Truth values are 0 and 1, and `boolean` says so.
    """

    got: torch.Tensor
    want: torch.Tensor
    ratio: torch.Tensor
    measurement: Measurement
    boolean: bool = False

    @property
    def ok(self) -> bool:
        """Whether every element is within the tolerance."""
        return self.measurement.wrong == 0

    @property
    def strange(self) -> torch.Tensor:
        """Where the answer is NaN or infinite, and the expected value is not."""
        return ~self.got.isfinite() & self.want.isfinite()


def compare(actual: torch.Tensor, expected: torch.Tensor, tolerance: Tolerance) -> Comparison:
    """Compares two tensors of one shape, in float64."""
    got, want = actual.detach().to(torch.float64), expected.detach().to(torch.float64)
    equal = (got == want) | (got.isnan() & want.isnan())
    error = torch.where(equal, 0.0, (got - want).abs())
    relative = torch.where(equal, 0.0, error / want.abs())
    allowed = tolerance.atol + tolerance.rtol * want.abs()
    ratio = torch.where(equal, 0.0, error / allowed).nan_to_num(nan=math.inf, posinf=math.inf)
    measurement = Measurement(
        max_abs_error=_largest(error),
        max_rel_error=_largest(relative),
        rtol=tolerance.rtol,
        atol=tolerance.atol,
        error_over_tolerance=_largest(ratio),
        wrong=int((ratio > 1).sum()),
        total=ratio.numel(),
        worst=place_of_largest(ratio) if ratio.numel() else (),
    )
    return Comparison(got, want, ratio, measurement, actual.dtype is torch.bool)


def all_within(actual: torch.Tensor, expected: torch.Tensor, tolerance: Tolerance) -> bool:
    """Whether `compare` finds nothing wrong; a fraction of its work."""
    got, want = actual.detach().to(torch.float64), expected.detach().to(torch.float64)
    if torch.equal(got, want):
        return True
    allowed = tolerance.atol + tolerance.rtol * want.abs()
    within = (got - want).abs() / allowed <= 1
    if bool(within.all()):
        return True
    return bool((within | (got == want) | (got.isnan() & want.isnan())).all())


def place_of_largest(numbers: torch.Tensor) -> tuple[int, ...]:
    """The index of the largest number, or of the first of several."""
    return place_of(numbers.argmax(), numbers.shape)


def place_of(number: torch.Tensor | int, shape: torch.Size) -> tuple[int, ...]:
    """The index of the element that is the `number`-th in memory."""
    # torch's own would load the packages for symbolic sizes first.
    return tuple(int(i) for i in numpy.unravel_index(int(number), shape))


def _largest(errors: torch.Tensor) -> float:
    return float(errors.nan_to_num(nan=math.inf, posinf=math.inf).max()) if errors.numel() else 0.0
