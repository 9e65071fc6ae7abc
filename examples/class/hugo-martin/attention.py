"""Everything here is (batch, seq, dim), as in the lecture."""
import math

import torch


def softmax(x, dim):
    return torch.exp(x) / torch.exp(x).sum(dim=dim, keepdim=True)


def attention_weights(Q, K, mask=None):
    scores = torch.bmm(Q, K.transpose(1, 2)) / math.sqrt(Q.size(2))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    return torch.softmax(scores, dim=2)


def attention(Q, K, V, mask=None):
    return torch.bmm(attention_weights(Q, K, mask), V)


class MultiHead:
    def __init__(self, num_heads, Wq, Wk, Wv, Wo):
        self.num_heads = num_heads
        self.Wq, self.Wk, self.Wv, self.Wo = Wq, Wk, Wv, Wo

    def split(self, x):
        B, S, D = x.shape
        return x.view(B, S, self.num_heads, D // self.num_heads).transpose(1, 2)

    def __call__(self, query, key, value, causal, rope=None):
        B, S, D = query.shape
        q = self.split(query @ self.Wq.T)   # (B, H, S, D/H)
        k = self.split(key @ self.Wk.T)
        v = self.split(value @ self.Wv.T)
        if rope is not None:
            q, k = rope(q), rope(k)
        scores = q @ k.transpose(2, 3) / math.sqrt(q.size(3))
        if causal:
            mask = torch.tril(torch.ones(S, S, device=query.device)).view(1, 1, S, S)
            scores = scores.masked_fill(mask == 0, float("-inf"))
        out = torch.softmax(scores, dim=3) @ v
        out = out.transpose(1, 2).contiguous().view(B, S, D)
        return out @ self.Wo.T


def rope(x, positions, theta):
    d = x.size(-1)
    inv_freq = theta ** (-torch.arange(0, d, 2, device=x.device).float() / d)
    angle = positions.unsqueeze(-1) * inv_freq
    cos, sin = angle.cos(), angle.sin()
    x1 = x[..., 0::2].clone()
    x2 = x[..., 1::2].clone()
    x[..., 0::2] = x1 * cos - x2 * sin
    x[..., 1::2] = x1 * sin + x2 * cos
    return x
