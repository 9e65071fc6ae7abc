"""Compares tensors within a tolerance: by how much, how many and where they differ."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from grader.verdict import Measurement


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
    """An answer beside what was expected.

    `wrong` of `total` elements are outside the tolerance, `strange` of them because they are NaN
    or infinite where the expected value is not; `worst` is the index of the farthest.
    """

    measurement: Measurement
    wrong: int
    total: int
    strange: int
    worst: tuple[int, ...]

    @property
    def ok(self) -> bool:
        """Whether every element is within the tolerance."""
        return self.wrong == 0


def compare(actual: torch.Tensor, expected: torch.Tensor, tolerance: Tolerance) -> Comparison:
    """Compares two tensors of one shape, in float64."""
    got, want = actual.detach().to(torch.float64), expected.detach().to(torch.float64)
    equal = (got == want) | (got.isnan() & want.isnan())
    error = torch.where(equal, 0.0, (got - want).abs())
    allowed = tolerance.atol + tolerance.rtol * want.abs()
    ratio = torch.where(equal, 0.0, error / allowed).nan_to_num(nan=math.inf, posinf=math.inf)
    if error.numel() == 0:
        return Comparison(Measurement(0.0, 0.0, tolerance.rtol, tolerance.atol, 0.0), 0, 0, 0, ())
    relative = torch.where(equal, 0.0, error / want.abs())
    farthest = int(ratio.argmax())
    worst = tuple(int(i) for i in torch.unravel_index(torch.tensor(farthest), ratio.shape))
    return Comparison(
        Measurement(
            max_abs_error=_largest(error),
            max_rel_error=_largest(relative),
            rtol=tolerance.rtol,
            atol=tolerance.atol,
            error_over_tolerance=_largest(ratio),
        ),
        wrong=int((ratio > 1).sum()),
        total=ratio.numel(),
        strange=int((~got.isfinite() & want.isfinite()).sum()),
        worst=worst,
    )


def _largest(errors: torch.Tensor) -> float:
    return float(errors.nan_to_num(nan=math.inf, posinf=math.inf).max())
