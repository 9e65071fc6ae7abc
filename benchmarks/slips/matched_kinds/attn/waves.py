"""Positions as waves: added ones (sinusoids) and turned ones (rotary)."""

import torch

# What cos and sin of an angle are multiplied with, to turn a row vector (a, b).
TURN = (((1.0, 0.0), (0.0, 1.0)), ((0.0, 1.0), (-1.0, 0.0)))


def phase(positions, width, theta):
    """(..., seq, width / 2)"""
    evens = torch.arange(width, device=positions.device)[::2]
    return positions[..., None] / torch.pow(theta, evens.double() / width)


def sinusoids(length, width):
    angle = phase(torch.arange(length), width, 10000.0)
    quarter = torch.tensor([0.0, torch.pi / 2])
    return (angle[..., None] + quarter).sin().flatten(-2).float()


def rotary(x, positions, theta):
    angle = phase(positions, x.shape[-1], theta)
    trig = torch.stack([angle.cos(), angle.sin()], dim=-1).to(x.dtype)
    turn = torch.tensor(TURN, dtype=x.dtype, device=x.device)
    pairs = x.unflatten(-1, (-1, 2))
    turned = torch.einsum("...pa,...pt,tab->...pb", pairs, trig, turn)
    return turned.flatten(-2)
