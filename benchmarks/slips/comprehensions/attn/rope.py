"""Positions, pair by pair."""

import torch


def frequencies(d, base):
    return [base ** (-2 * i / d) for i in range(d // 2)]


def turned(pair, angle):
    a, b = pair.unbind(-1)
    cos, sin = angle.cos().to(a.dtype), angle.sin().to(a.dtype)
    return [a * cos - b * sin, a * sin + b * cos]


def rotate(x, positions, theta):
    d = x.shape[-1]
    pairs = x.unflatten(-1, (d // 2, 2)).unbind(-2)
    speeds = frequencies(d, theta)
    features = [
        feature
        for pair, speed in zip(pairs, speeds, strict=True)
        for feature in turned(pair, positions * speed)
    ]
    return torch.stack(features, dim=-1)


def sinusoids(seq_len, d_model):
    positions = torch.arange(seq_len)
    return torch.stack(
        [
            wave(positions * speed)
            for speed in frequencies(d_model, 10_000)
            for wave in (torch.sin, torch.cos)
        ],
        dim=-1,
    )
