import torch


def sin_cos_table(d_k, theta, max_seq_len, device):
    """cos and sin of every position and pair, (max_seq_len, d_k / 2)"""
    pair = torch.arange(d_k // 2, device=device)
    freq = theta ** (-2.0 * pair / d_k)
    position = torch.arange(max_seq_len, device=device)
    angle = torch.outer(position.float(), freq)
    return angle.cos(), angle.sin()


def rotate_pairs(x, cos, sin):
    """Multiply every pair by its rotation matrix [[cos, -sin], [sin, cos]]."""
    first_row = torch.stack([cos, -sin], dim=-1)
    second_row = torch.stack([sin, cos], dim=-1)
    R = torch.stack([first_row, second_row], dim=-2)  # (..., seq, pairs, 2, 2)
    pairs = x.unflatten(-1, (-1, 2)).unsqueeze(-1).to(R.dtype)
    turned = (R @ pairs).squeeze(-1)
    return turned.reshape(x.shape).to(x.dtype)
