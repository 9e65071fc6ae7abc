import torch


def rotate_pair(a, b, angle):
    cos = torch.cos(angle).to(a.dtype)
    sin = torch.sin(angle).to(a.dtype)
    new_a = a * cos - b * sin
    new_b = a * sin + b * cos
    return new_a, new_b


def apply_rope(x, positions, d_k, theta):
    """Rotates the pairs (0, 1), (2, 3), ... one after the other."""
    features = []
    for k in range(d_k // 2):
        frequency = theta ** (-2 * k / d_k)
        angle = positions * frequency
        first, second = x[..., 2 * k], x[..., 2 * k + 1]
        features.extend(rotate_pair(first, second, angle))
    return torch.stack(features, dim=-1)
