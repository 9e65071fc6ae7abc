"""What the functions of this package are told: sizes and flags in one tuple, weights in another."""

from typing import NamedTuple

from torch import Tensor


class AttentionConfig(NamedTuple):
    d_model: int
    num_heads: int
    causal: bool = True
    scaled: bool = True
    rotary: bool = False
    theta: float = 10000.0

    @property
    def d_head(self) -> int:
        return self.d_model // self.num_heads

    @property
    def temperature(self) -> float:
        return self.d_head**0.5 if self.scaled else 1.0

    def for_one_head(self) -> "AttentionConfig":
        return self._replace(d_model=self.d_head, num_heads=1)


class Weights(NamedTuple):
    query: Tensor
    key: Tensor
    value: Tensor
    output: Tensor | None = None
