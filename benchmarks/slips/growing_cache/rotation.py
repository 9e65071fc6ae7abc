"""A table of angles, and the rotation that looks its angles up there."""

import torch


class Rotation:
    def __init__(self, theta, width, length):
        steps = torch.arange(length, dtype=torch.float64)
        powers = torch.arange(0, width, 2, dtype=torch.float64).div(width)
        self.angles = steps.unsqueeze(1) / (theta**powers).unsqueeze(0)
        self.width = width

    def encoding(self):
        waves = torch.stack([self.angles.sin(), self.angles.cos()], dim=-1)
        return waves.reshape(len(self.angles), self.width).float()

    def apply(self, x, positions):
        angles = self.angles.to(x.device)[positions].repeat_interleave(2, dim=-1)
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        return x * cos + self.quarter_turn(x) * sin

    def quarter_turn(self, x):
        """(a, b) becomes (-b, a) in every pair."""
        partners = torch.arange(self.width, device=x.device).view(-1, 2).flip(1).flatten()
        signs = torch.ones(self.width, dtype=x.dtype, device=x.device)
        signs[0::2] = -1
        return x[..., partners] * signs
