from functools import cached_property

import torch


class SineWaves:
    """Sines and cosines of positions, as many as there are pairs of features."""

    def __init__(self, positions, width, base=10000.0):
        self.positions = positions
        self.width = width
        self.base = base

    @cached_property
    def rates(self):
        powers = torch.linspace(0, 1, self.width // 2 + 1, dtype=torch.float64)[:-1]
        return (self.base**-powers).to(self.positions.device)

    @cached_property
    def angles(self):
        return self.positions.unsqueeze(-1).double() * self.rates

    @cached_property
    def sines(self):
        return self.angles.sin()

    @cached_property
    def cosines(self):
        return self.angles.cos()

    @property
    def encoding(self):
        table = self.angles.new_empty(len(self.positions), self.width // 2, 2)
        table[..., 0] = self.sines
        table[..., 1] = self.cosines
        return table.flatten(1).to(torch.float32)

    def for_all_heads(self):
        """The same waves with an axis for the heads before the tokens."""
        return SineWaves(self.positions.unsqueeze(-2), self.width, self.base)


class Turned:
    """A tensor whose pairs of features are turned by the angles of waves."""

    def __init__(self, x, waves):
        self.x = x
        self.waves = waves

    @cached_property
    def pairs(self):
        return self.x.reshape(*self.x.shape[:-1], -1, 2)

    @property
    def first(self):
        cos, sin = self._as_input(self.waves.cosines), self._as_input(self.waves.sines)
        return self.pairs[..., 0] * cos - self.pairs[..., 1] * sin

    @property
    def second(self):
        cos, sin = self._as_input(self.waves.cosines), self._as_input(self.waves.sines)
        return self.pairs[..., 0] * sin + self.pairs[..., 1] * cos

    @property
    def result(self):
        return torch.stack((self.first, self.second), dim=-1).reshape(self.x.shape)

    def _as_input(self, wave):
        return wave.to(self.x.dtype)
