"""Mask strategies. Convention everywhere: True = the query may see the key."""

from abc import ABC, abstractmethod

import torch
from torch import Tensor

from .config import MaskPolicy


class MaskStrategy(ABC):
    """Template: subclasses say what is allowed, the base class hides the rest."""

    def apply(self, scores: Tensor) -> Tensor:
        allowed = self.allowed(scores)
        if allowed is None:
            return scores
        return scores.masked_fill(~allowed, float("-inf"))

    @abstractmethod
    def allowed(self, scores: Tensor) -> Tensor | None:
        """Boolean mask that broadcasts against the scores, or None for no restriction."""


class FullVisibility(MaskStrategy):
    def allowed(self, scores: Tensor) -> Tensor | None:
        return None


class ExplicitMask(MaskStrategy):
    """A mask that the caller brought along (may be None)."""

    def __init__(self, mask: Tensor | None) -> None:
        self._mask = mask

    def allowed(self, scores: Tensor) -> Tensor | None:
        return self._mask


class CausalMask(MaskStrategy):
    def allowed(self, scores: Tensor) -> Tensor | None:
        return self.build(scores.shape[-1], scores.device)

    @staticmethod
    def build(seq_len: int, device: torch.device | None = None) -> Tensor:
        index = torch.arange(seq_len, device=device)
        query_index = index.unsqueeze(1)
        key_index = index.unsqueeze(0)
        return key_index <= query_index


class MaskFactory:
    """Maps a policy to a strategy object."""

    _REGISTRY: dict[MaskPolicy, type[MaskStrategy]] = {
        MaskPolicy.FULL: FullVisibility,
        MaskPolicy.CAUSAL: CausalMask,
    }

    @classmethod
    def create(cls, policy: MaskPolicy) -> MaskStrategy:
        return cls._REGISTRY[policy]()
