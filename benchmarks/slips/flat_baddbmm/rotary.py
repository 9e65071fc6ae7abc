"""Rotation of (batch, tokens, features) by positions (batch, tokens)."""

import torch


def flat_positions(positions, x):
    """One row of positions for each batch element of x, counted from 0 if there are none."""
    if positions is None:
        positions = torch.arange(x.size(-2), device=x.device)
    return positions.broadcast_to(x.shape[:-1]).reshape(-1, x.size(-2))


def waves(at, width, theta, dtype):
    pair = torch.arange(width // 2, device=at.device, dtype=torch.float64)
    speed = torch.exp(pair * (-2.0 / width) * torch.log(torch.tensor(theta, dtype=torch.float64)))
    angle = torch.einsum("bn,f->bnf", at.double(), speed.to(at.device))
    return torch.cos(angle).to(dtype), torch.sin(angle).to(dtype)


def turn(x, at, theta):
    c, s = waves(at, x.size(2), theta, x.dtype)
    pairs = x.view(x.size(0), x.size(1), -1, 2)
    a, b = pairs.unbind(dim=3)
    new_a = torch.addcmul(a * c, b, s, value=-1)
    new_b = torch.addcmul(b * c, a, s)
    return torch.stack((new_a, new_b), dim=3).view_as(x)
