import torch


class Frequencies:
    """Falling frequencies of dim / 2 pairs of features."""

    base = 10000.0

    def __init__(self, dim, base=None):
        self.dim = dim
        if base is not None:
            self.base = base

    def at(self, positions):
        exponents = torch.arange(0, self.dim, 2, device=positions.device) / self.dim
        return positions.unsqueeze(-1) / self.base**exponents

    @staticmethod
    def zipped(even, odd):
        return torch.stack([even, odd], -1).flatten(-2, -1)


class Sinusoidal(Frequencies):
    def __call__(self, length):
        angles = self.at(torch.arange(length))
        return self.zipped(angles.sin(), angles.cos())


class Rotary(Frequencies):
    def __init__(self, dim, base, max_len):
        super().__init__(dim, base)
        self.max_len = max_len

    def __call__(self, x, positions):
        angles = self.table(x.device)[positions]
        return x * self.repeated(angles.cos(), x) + self.quarter_turn(x) * self.repeated(
            angles.sin(), x
        )

    def table(self, device):
        return self.at(torch.arange(self.max_len, device=device))

    def repeated(self, values, x):
        """Each value twice, for both features of its pair."""
        return values.repeat_interleave(2, dim=-1).to(x.dtype)

    def quarter_turn(self, x):
        """(a, b) -> (-b, a) in every pair."""
        a, b = x[..., ::2], x[..., 1::2]
        return self.zipped(-b, a)
