"""What the notebook imports: the numerics, kept out of the way."""

import torch


def stable_softmax(t, axis):
    t = t - torch.amax(t, dim=axis, keepdim=True)
    t = torch.exp(t)
    return t / torch.sum(t, dim=axis, keepdim=True)


def blocked(seq, like=None):
    """(seq, seq), True above the diagonal."""
    device = None if like is None else like.device
    index = torch.arange(seq, device=device)
    return index[None, :] > index[:, None]


class Wave:
    """Angles pos / base^(2i/dim), and what is made of them."""

    def __init__(self, dim, base=10_000.0, device=None):
        exponent = torch.arange(dim // 2, device=device) * 2 / dim
        self.freq = base**-exponent
        self.dim = dim

    def phase(self, pos):
        return pos[..., None] * self.freq

    def complex_table(self, pos):
        phase = self.phase(pos)
        return torch.polar(torch.ones_like(phase), phase)

    def encode(self, pos):
        phase = self.phase(pos)
        both = torch.stack([phase.sin(), phase.cos()], dim=-1)
        return both.reshape(*pos.shape, self.dim)


def turn(x, pos, base):
    """Each pair of features as one complex number, times e^(i phase)."""
    wide = x.double() if x.dtype == torch.float64 else x.float()
    z = torch.view_as_complex(wide.reshape(*x.shape[:-1], -1, 2).contiguous())
    table = Wave(x.shape[-1], base, x.device).complex_table(pos)
    z = z * table
    return torch.view_as_real(z).flatten(-2).to(x.dtype)
