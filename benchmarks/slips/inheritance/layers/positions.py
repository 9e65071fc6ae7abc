"""Waves of many lengths, either rotated by or written down."""

import torch


class Waves:
    """Angles of every position, for half as many speeds as there are features."""

    def __init__(self, width, base):
        self.width = width
        self.base = base

    def speeds(self, device=None):
        doubled = torch.arange(0, self.width, 2, device=device)
        return torch.pow(self.base, -doubled / self.width)

    def angles(self, positions):
        return positions.unsqueeze(-1) * self.speeds(positions.device)


class Rotary(Waves):
    def __init__(self, width, theta, device=None):
        super().__init__(width, theta)
        feature = torch.arange(width, device=device)
        self.partner = feature ^ 1
        self.sign = torch.where(feature % 2 == 0, -1.0, 1.0)

    def angles(self, positions):
        """Each angle twice, as both features of a pair turn by it."""
        return super().angles(positions).repeat_interleave(2, dim=-1)

    def __call__(self, x, positions):
        angles = self.angles(positions)
        cos, sin = angles.cos(), angles.sin() * self.sign
        return x * cos.to(x.dtype) + x[..., self.partner] * sin.to(x.dtype)


class Sinusoidal(Waves):
    def __init__(self, width, base=10_000.0):
        super().__init__(width, base)

    def table(self, seq_len):
        angles = self.angles(torch.arange(seq_len))
        table = angles.new_zeros(seq_len, self.width)
        table[:, ::2] = angles.sin()
        table[:, 1::2] = angles.cos()
        return table
