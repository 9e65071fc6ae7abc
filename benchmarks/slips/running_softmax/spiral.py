"""Angles of positions, for sines and cosines in a table and for turning pairs of features."""

import torch


class Spiral:
    def __init__(self, width, base=10000):
        self.width = width
        self.log_base = torch.tensor(float(base), dtype=torch.float64).log()

    def frequencies(self):
        step = torch.arange(self.width // 2, dtype=torch.float64) * 2 / self.width
        return torch.exp(-step * self.log_base)

    def angles(self, positions):
        frequencies = self.frequencies().to(positions.device)
        return positions.double().unsqueeze(-1).matmul(frequencies.unsqueeze(0))

    def climb(self, length):
        angles = self.angles(torch.arange(length))
        columns = []
        for k in range(self.width // 2):
            columns += [angles[:, k].sin(), angles[:, k].cos()]
        return torch.column_stack(columns).float()

    def rotate(self, x, positions):
        angles = self.angles(positions)
        odd_sign = torch.tensor([-1.0, 1.0], dtype=x.dtype, device=x.device)
        couples = x.view(x.shape[:-1] + (self.width // 2, 2))
        crossed = couples[..., [1, 0]] * odd_sign
        straight = couples * angles.cos().unsqueeze(-1).to(x.dtype)
        return (straight + crossed * angles.sin().unsqueeze(-1).to(x.dtype)).flatten(-2)
