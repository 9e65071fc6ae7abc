"""From queries and keys to scores, from scores to shares."""

import math
from abc import ABC, abstractmethod

from torch import Tensor


class Softmax:
    """Numerically stable softmax along one axis."""

    def __init__(self, dim: int = -1) -> None:
        self._dim = dim

    def __call__(self, logits: Tensor) -> Tensor:
        peak = logits.amax(dim=self._dim, keepdim=True)
        exponentials = (logits - peak).exp()
        total = exponentials.sum(dim=self._dim, keepdim=True)
        return exponentials / total


class ScoreFunction(ABC):
    """Dot products, times a factor that the subclass decides on."""

    def compute(self, query: Tensor, key: Tensor) -> Tensor:
        raw = query @ key.transpose(-2, -1)
        return raw * self.factor(query)

    @abstractmethod
    def factor(self, query: Tensor) -> float: ...


class PlainScore(ScoreFunction):
    def factor(self, query: Tensor) -> float:
        return 1.0


class ScaledScore(ScoreFunction):
    def factor(self, query: Tensor) -> float:
        d_k = query.shape[-1]
        return 1.0 / math.sqrt(d_k)
