import torch


def sinusoidal(seq_len, d_model):
    position = torch.arange(seq_len, dtype=torch.float64)
    column = torch.arange(d_model)
    angle = position[:, None] / 10000 ** ((column // 2) * 2 / d_model)
    is_even = column % 2 == 0
    return torch.where(is_even, torch.sin(angle), torch.cos(angle)).to(torch.float32)


class Rope:
    """Rotates neighbours. The partner of x[2i] is -x[2i+1] and the partner of x[2i+1] is x[2i]."""

    def __init__(self, d_k, theta, device):
        i = torch.arange(d_k, device=device) // 2
        self.frequency = torch.pow(theta, -2.0 * i / d_k)

    def __call__(self, x, positions):
        angle = positions[..., None] * self.frequency
        partner = torch.stack([-x[..., 1::2], x[..., ::2]], dim=-1).reshape(x.shape)
        return x * angle.cos().to(x.dtype) + partner * angle.sin().to(x.dtype)
