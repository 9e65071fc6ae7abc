"""Position encodings."""

from abc import ABC, abstractmethod

import torch
from torch import Tensor

from .config import RotaryConfig


class FrequencyBand:
    """The geometric series base^(-2k/dim), k = 0 .. dim/2 - 1, in double precision."""

    def __init__(self, dim: int, base: float, device: torch.device | None = None) -> None:
        if dim % 2 != 0:
            raise ValueError("dim must be even")
        self._dim = dim
        self._base = base
        self._device = device

    @property
    def frequencies(self) -> Tensor:
        even_index = torch.arange(0, self._dim, 2, dtype=torch.float64, device=self._device)
        return self._base ** (-even_index / self._dim)

    def angles(self, length: int) -> Tensor:
        """(length, dim / 2): one angle per position and pair."""
        positions = torch.arange(length, dtype=torch.float64, device=self._device)
        return torch.outer(positions, self.frequencies)


class SinusoidalTable:
    """Additive encoding of Vaswani et al."""

    BASE = 10_000.0

    def __init__(self, seq_len: int, d_model: int) -> None:
        self._seq_len = seq_len
        self._d_model = d_model

    def build(self) -> Tensor:
        angles = FrequencyBand(self._d_model, self.BASE).angles(self._seq_len)
        table = torch.zeros(self._seq_len, self._d_model)
        table[:, 0::2] = angles.sin()
        table[:, 1::2] = angles.cos()
        return table


class RotaryTableCache:
    """Cosines and sines per configuration, so that layers of the same kind share them."""

    _tables: dict[tuple[RotaryConfig, torch.device], tuple[Tensor, Tensor]] = {}

    @classmethod
    def get(cls, config: RotaryConfig, device: torch.device) -> tuple[Tensor, Tensor]:
        cache_key = (config, device)
        if cache_key not in cls._tables:
            cls._tables[cache_key] = cls._compute(config, device)
        return cls._tables[cache_key]

    @staticmethod
    def _compute(config: RotaryConfig, device: torch.device) -> tuple[Tensor, Tensor]:
        band = FrequencyBand(config.dim, config.theta, device)
        angles = band.angles(config.max_seq_len)
        return angles.cos(), angles.sin()


class PositionEncoder(ABC):
    """Encodes queries or keys, given where each of them stands."""

    @abstractmethod
    def encode(self, x: Tensor, positions: Tensor | None) -> Tensor: ...


class NoPositions(PositionEncoder):
    """Null object."""

    def encode(self, x: Tensor, positions: Tensor | None) -> Tensor:
        return x


class RotaryEncoder(PositionEncoder):
    def __init__(self, config: RotaryConfig) -> None:
        super().__init__()
        self._config = config

    def encode(self, x: Tensor, positions: Tensor | None) -> Tensor:
        if positions is None:
            positions = torch.arange(x.shape[-2], device=x.device)
        cos, sin = self._lookup(positions, x)
        first = x[..., 0::2]
        second = x[..., 1::2]
        rotated_first = first * cos - second * sin
        rotated_second = first * sin + second * cos
        pairs = torch.stack((rotated_first, rotated_second), dim=-1)
        return pairs.flatten(start_dim=-2)

    def _lookup(self, positions: Tensor, like: Tensor) -> tuple[Tensor, Tensor]:
        cos_table, sin_table = RotaryTableCache.get(self._config, like.device)
        index = positions.long()
        cos = cos_table[index]
        sin = sin_table[index]
        return cos.to(like), sin.to(like)
