"""The attention engine itself and the dropout on its weights."""

import torch
from torch import Tensor

from .masking import MaskStrategy
from .scoring import ScoreFunction, Softmax


class AttentionEngine:
    """Scores -> mask -> softmax -> weighted mean of the values. Dependencies are injected."""

    def __init__(self, score: ScoreFunction, mask: MaskStrategy) -> None:
        self._score = score
        self._mask = mask
        self._softmax = Softmax(dim=-1)

    def weights(self, query: Tensor, key: Tensor) -> Tensor:
        scores = self._score.compute(query, key)
        visible = self._mask.apply(scores)
        return self._softmax(visible)

    def attend(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        shares = self.weights(query, key)
        return shares @ value


class InvertedDropout:
    """Drops each element with probability `rate` and scales up the survivors."""

    def __init__(self, rate: float, training: bool = True) -> None:
        if not 0.0 <= rate < 1.0:
            raise ValueError(f"rate must lie in [0, 1), got {rate}")
        self._rate = rate
        self._training = training

    @property
    def keep_probability(self) -> float:
        return 1.0 - self._rate

    @property
    def is_active(self) -> bool:
        return self._training and self._rate > 0.0

    def apply(self, weights: Tensor) -> Tensor:
        if not self.is_active:
            return weights
        survives = torch.rand_like(weights) < self.keep_probability
        kept = weights * survives
        return kept / self.keep_probability
