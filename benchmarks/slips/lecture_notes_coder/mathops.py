"""The formulas of lecture 7 ("Attention") as functions, one by one.

Notation as on the slides: B = batch, H = heads, n = queries, m = keys.
"""

import math

import torch


def softmax(z, dim):
    """Eq. (7.1): softmax(z)_i = exp(z_i) / sum_j exp(z_j), made stable by taking off the maximum."""
    z_max = z.max(dim=dim, keepdim=True).values
    e = torch.exp(z - z_max)
    Z = e.sum(dim=dim, keepdim=True)
    p = e / Z
    assert p.shape == z.shape
    return p


def causal_mask(n):
    """Eq. (7.6): M_ij = 1 if j <= i, else 0. Returns bool (n, n)."""
    assert n >= 1
    i = torch.arange(n).view(n, 1)
    j = torch.arange(n).view(1, n)
    return j <= i


def scores(Q, K):
    """Eq. (7.3): S = Q K^T / sqrt(d_k). (B, ..., n, d_k) and (B, ..., m, d_k) -> (B, ..., n, m)."""
    assert Q.shape[-1] == K.shape[-1]
    d_k = Q.shape[-1]
    S = torch.matmul(Q, K.transpose(-2, -1))
    return S / math.sqrt(d_k)


def attention_weights(Q, K, mask=None):
    """Eq. (7.4): A = softmax(S), row by row; forbidden pairs get -inf first (slide 21)."""
    S = scores(Q, K)
    if mask is not None:
        assert mask.dtype == torch.bool
        S = S.masked_fill(~mask, float("-inf"))
    A = softmax(S, dim=-1)
    return A


def attention(Q, K, V, mask=None):
    """Eq. (7.5): O = A V."""
    A = attention_weights(Q, K, mask)
    O = torch.matmul(A, V)
    assert O.shape[-2] == Q.shape[-2]
    return O


def rope_frequencies(d, theta):
    """Eq. (7.12): omega_k = theta^(-2k/d), k = 0 ... d/2 - 1. Returns (d/2,)."""
    assert d % 2 == 0
    k = torch.arange(d // 2, dtype=torch.float64)
    return theta ** (-2 * k / d)


def rope_angles(positions, d, theta):
    """Eq. (7.13): phi_{m,k} = m * omega_k. (..., n) -> (..., n, d/2)."""
    omega = rope_frequencies(d, theta)
    m = positions.to(torch.float64)
    phi = m.unsqueeze(-1) * omega
    assert phi.shape == (*positions.shape, d // 2)
    return phi


def rotate_pairs(x, phi):
    """Eq. (7.14): each pair (a, b) becomes (a cos phi - b sin phi, a sin phi + b cos phi)."""
    c = torch.cos(phi).to(x.dtype)
    s = torch.sin(phi).to(x.dtype)
    a = x[..., 0::2]
    b = x[..., 1::2]
    a_new = a * c - b * s
    b_new = a * s + b * c
    pairs = torch.stack((a_new, b_new), dim=-1)
    return pairs.contiguous().view(x.shape)


def rope(x, positions, d, theta):
    """Slide 40: RoPE(x, m) = R_m x."""
    phi = rope_angles(positions, d, theta)
    return rotate_pairs(x, phi)
