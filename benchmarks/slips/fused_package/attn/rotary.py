import torch


def angle_table(d_k, theta, max_seq_len, device=None):
    """(max_seq_len, d_k / 2): position times frequency."""
    k = torch.arange(d_k // 2, device=device)
    frequency = theta ** (-2 * k / d_k)
    position = torch.arange(max_seq_len, device=device)
    return torch.outer(position, frequency)


def lookup(table, positions, seq_len):
    if positions is None:
        return table[:seq_len]
    return table[positions]


def rotate(x, angles):
    cos = torch.cos(angles).to(x.dtype)
    sin = torch.sin(angles).to(x.dtype)
    pairs = x.unflatten(-1, (-1, 2))
    a, b = pairs.unbind(-1)
    rotated = torch.stack((a * cos - b * sin, b * cos + a * sin), dim=-1)
    return rotated.flatten(-2)
