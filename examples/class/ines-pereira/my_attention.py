# Inês Pereira
#
# convention: mask is True where something is MASKED (hidden)!!

import torch
import torch.nn.functional as F


def future(n, device=None):
    """True strictly above the diagonal: what has not happened yet is masked."""
    return torch.triu(torch.ones(n, n, dtype=torch.bool, device=device), diagonal=1)


def weights(q, k, mask=None):
    s = torch.einsum("...id,...jd->...ij", q, k).div(q.shape[-1] ** 0.5)
    if mask is not None:
        s = s.masked_fill(mask, -float("inf"))
    return F.softmax(s, dim=-1)


def attend(q, k, v, mask=None):
    return torch.einsum("...ij,...jd->...id", weights(q, k, mask), v)


def heads(x, w, h):
    w = w.reshape(h, -1, w.shape[-1])
    return torch.einsum("...si,hdi->...hsd", x, w)


def unheads(x, w):
    w = w.reshape(w.shape[0], x.shape[-3], x.shape[-1])
    return torch.einsum("...hsd,ohd->...so", x, w)


def rotate(x, pos, theta):
    f = theta ** (torch.arange(0, x.shape[-1], 2, device=x.device) / -x.shape[-1])
    phi = pos[..., None] * f
    c, s = phi.cos().to(x.dtype), phi.sin().to(x.dtype)
    a, b = x[..., ::2], x[..., 1::2]
    return torch.stack([c * a - s * b, s * a + c * b], -1).flatten(-2)
