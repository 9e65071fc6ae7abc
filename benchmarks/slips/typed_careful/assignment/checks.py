"""Validation that fails early, before any arithmetic."""

from torch import Tensor


def require(condition: bool, message: str) -> None:
    if not condition:
        raise ValueError(message)


def require_same_last(left: Tensor, right: Tensor, what: str) -> None:
    require(left.shape[-1] == right.shape[-1], f"{what}: {left.shape[-1]} != {right.shape[-1]}")


def require_even(size: int, what: str) -> None:
    require(size % 2 == 0, f"{what} must be even, got {size}")


def require_divides(divisor: int, size: int) -> None:
    require(size % divisor == 0, f"{divisor} heads do not divide {size} features")
