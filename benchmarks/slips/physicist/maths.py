"""The formulas, as close to the papers as the keyboard allows.

Letters
    n       tokens (queries: i or q, keys: j or k)
    d, dk   features, features of a query or key
    h, e    heads, features within a head
    Q K V   queries, keys, values
    S, A    scores, attention (each row of A sums to one)
    M       mask, True = may look
    m       positions on the chain of tokens
Whatever stands in front of these axes (batch, ...) is carried along by "...".
"""

import math

import torch
from torch import einsum

BASE = 10000.0  # wavelengths of Vaswani et al. go from 2 pi to BASE * 2 pi


# ---------------------------------------------------------------- statistical mechanics


def gibbs(T):
    """Boltzmann weights exp(x / T) / Z at temperature T. (x is minus an energy.)"""
    beta = 1.0 / T

    def weights(x, dim=-1):
        y = beta * x
        top = y.amax(dim, keepdim=True)
        w = torch.exp(y - top)  # the ground state has weight 1, nothing overflows
        Z = w.sum(dim, keepdim=True)
        return w / Z

    return weights


softmax = gibbs(1.0)


def bernoulli(p):
    """Inverted dropout: kill with probability p, amplify the survivors so that <A> stays put."""
    q = 1.0 - p

    def kill(A):
        u = torch.rand_like(A)
        alive = u < q
        return torch.where(alive, A / q, torch.zeros_like(A))

    return kill


# ---------------------------------------------------------------- causality


def past(n, device=None):
    """(n, n), True on and below the diagonal: query i (row) knows key j (column) if j <= i."""
    t = torch.arange(n, device=device)
    i, j = t[:, None], t[None, :]
    return j <= i


def barrier(S):
    """The same as a potential for scores S (..., n, n): 0 in the past, infinite in the future."""
    n = S.shape[-1]
    t = torch.arange(n, device=S.device)
    U = torch.zeros(n, n, dtype=S.dtype, device=S.device)
    U[t[:, None] < t[None, :]] = math.inf
    return U


# ---------------------------------------------------------------- attention


def overlap(Q, K):
    """All inner products <q_i, k_j>, (..., q, k)."""
    return einsum("...qd,...kd->...qk", Q, K)


def attention(Q, K, M=None):
    """A = softmax(Q K^T / sqrt(dk)); forbidden pairs have score -inf and so weight 0."""
    dk = Q.shape[-1]
    S = overlap(Q, K)
    if M is not None:
        S = torch.where(M, S, -math.inf)
    return gibbs(math.sqrt(dk))(S)


def expectation(A, V):
    """<v>_i = sum_j A_ij v_j"""
    return einsum("...qk,...kv->...qv", A, V)


def attend(Q, K, V, M=None):
    A = attention(Q, K, M)
    return expectation(A, V)


# ---------------------------------------------------------------- heads


def split(x, h):
    """(..., n, h*e) -> (..., h, n, e)"""
    e = x.shape[-1] // h
    x = x.reshape(*x.shape[:-1], h, e)
    return x.transpose(-3, -2)


def merge(y):
    """(..., h, n, e) -> (..., n, h*e)"""
    h, n, e = y.shape[-3:]
    y = y.transpose(-3, -2)
    return y.reshape(*y.shape[:-3], n, h * e)


def projectors(d, h, like):
    """P[a, f] = 1 if feature f lives in head a, else 0. Rows are orthogonal, columns sum to 1."""
    a = torch.arange(h, device=like.device)
    f = torch.arange(d, device=like.device)
    P = f[None, :] // (d // h) == a[:, None]
    return P.to(like.dtype)


# ---------------------------------------------------------------- positions


def waves(n, d):
    """PE of Vaswani et al.: features 2i, 2i+1 are sin, cos of m / BASE^(2i/d)."""
    m = torch.arange(n, dtype=torch.float64)
    f = torch.arange(d)
    i2 = f - f % 2
    omega = BASE ** (-i2 / d)
    phi = m[:, None] * omega[None, :]
    even = f % 2 == 0
    PE = torch.where(even[None, :], torch.sin(phi), torch.cos(phi))
    return PE.to(torch.get_default_dtype())


_tables = {}


def table(dk, theta, nmax):
    """Rotation matrices R[m, k] (2 x 2) of pair k at position m, all of them, in double."""
    key = (dk, float(theta), nmax)
    if key not in _tables:
        k = torch.arange(dk // 2, dtype=torch.float64)
        m = torch.arange(nmax, dtype=torch.float64)
        omega = theta ** (-2 * k / dk)
        phi = torch.outer(m, omega)
        c, s = torch.cos(phi), torch.sin(phi)
        R = torch.stack([c, -s, s, c], dim=-1)
        _tables[key] = R.reshape(nmax, dk // 2, 2, 2)
    return _tables[key]


def rotor(dk, theta, nmax):
    """The map (x, m) -> x rotated: x_(2k), x_(2k+1) turn by m theta^(-2k/dk)."""
    R = table(dk, theta, nmax)

    def rotate(x, m):
        Rm = R.to(x.device)[m.long()]
        Rm = Rm.to(x.dtype)
        z = x.reshape(*x.shape[:-1], dk // 2, 2)
        z = einsum("...kab,...kb->...ka", Rm, z)
        return z.reshape(x.shape)

    return rotate


if __name__ == "__main__":
    x = torch.randn(3, 5, 8)
    A = attention(x, x, past(5))
    print("rows of A - 1:", (A.sum(-1) - 1).abs().max().item())
    print("merge(split):", (merge(split(x, 4)) - x).abs().max().item())
    y = rotor(8, BASE, 16)(x, torch.arange(5))
    print("|Rx| - |x|:", (y.norm(dim=-1) - x.norm(dim=-1)).abs().max().item())
