"""Counting parameters without building a module."""

from dataclasses import dataclass


@dataclass(frozen=True)
class LinearSpec:
    """What there is to know about a linear layer in order to count it."""

    in_features: int
    out_features: int
    has_bias: bool

    @property
    def size(self) -> int:
        weight = self.in_features * self.out_features
        bias = self.out_features if self.has_bias else 0
        return weight + bias


class ParameterCounter:
    def __init__(self, d_in: int, d_out: int) -> None:
        self._d_in = d_in
        self._d_out = d_out

    def count(self, qkv_bias: bool, out_bias: bool) -> int:
        qkv = LinearSpec(self._d_in, self._d_out, qkv_bias)
        output = LinearSpec(self._d_out, self._d_out, out_bias)
        return 3 * qkv.size + output.size
