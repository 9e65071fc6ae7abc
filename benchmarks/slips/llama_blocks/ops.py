from typing import Optional, Tuple

import torch


def softmax(x: torch.Tensor, dim: int = -1) -> torch.Tensor:
    x = x - torch.amax(x, dim=dim, keepdim=True)
    ex = torch.exp(x)
    return ex / ex.sum(dim=dim, keepdim=True)


def precompute_freqs_cis(dim: int, end: int, theta: float = 10000.0, device=None) -> torch.Tensor:
    steps = torch.arange(0, dim, 2, dtype=torch.float64, device=device)[: (dim // 2)]
    freqs = 1.0 / (theta ** (steps / dim))
    t = torch.arange(end, dtype=torch.float64, device=device)
    freqs = torch.outer(t, freqs)
    return torch.polar(torch.ones_like(freqs), freqs)


def reshape_for_broadcast(freqs_cis: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """freqs_cis: (b or 1, seqlen, hd / 2), x: (b, seqlen, heads, hd / 2)"""
    assert x.ndim == 4
    assert freqs_cis.shape[-2:] == (x.shape[1], x.shape[-1])
    shape = [d if i in (0, 1, 3) else 1 for i, d in enumerate(x.shape)]
    shape[0] = freqs_cis.shape[0]
    return freqs_cis.view(*shape)


def apply_rotary_emb(
    xq: torch.Tensor, xk: torch.Tensor, freqs_cis: torch.Tensor
) -> Tuple[torch.Tensor, torch.Tensor]:
    xq_ = torch.view_as_complex(xq.double().reshape(*xq.shape[:-1], -1, 2))
    xk_ = torch.view_as_complex(xk.double().reshape(*xk.shape[:-1], -1, 2))
    freqs_cis = reshape_for_broadcast(freqs_cis, xq_)
    xq_out = torch.view_as_real(xq_ * freqs_cis).flatten(3)
    xk_out = torch.view_as_real(xk_ * freqs_cis).flatten(3)
    return xq_out.type_as(xq), xk_out.type_as(xk)


def repeat_kv(x: torch.Tensor, n_rep: int) -> torch.Tensor:
    """torch.repeat_interleave(x, dim=2, repeats=n_rep)"""
    bs, slen, n_kv_heads, head_dim = x.shape
    if n_rep == 1:
        return x
    return (
        x[:, :, :, None, :]
        .expand(bs, slen, n_kv_heads, n_rep, head_dim)
        .reshape(bs, slen, n_kv_heads * n_rep, head_dim)
    )


def causal_bias(seqlen: int, like: torch.Tensor) -> torch.Tensor:
    bias = torch.full((seqlen, seqlen), float("-inf"), dtype=like.dtype, device=like.device)
    return torch.triu(bias, diagonal=1)


def to_bias(mask: Optional[torch.Tensor], like: torch.Tensor) -> Optional[torch.Tensor]:
    if mask is None:
        return None
    bias = torch.zeros(mask.shape, dtype=like.dtype, device=like.device)
    return bias.masked_fill(mask.logical_not(), float("-inf"))
