import torch

from .positions import Rotary
from .scores import Triangle, Weights


class CrossAttention:
    """Several heads, from one sequence to another."""

    def __init__(self, d_model, num_heads, w_q, w_k, w_v, w_o, causal=False):
        self.d_model = d_model
        self.num_heads = num_heads
        self.w_q, self.w_k, self.w_v, self.w_o = w_q, w_k, w_v, w_o
        self.causal = causal
        self.weights = Weights(self.d_head)

    @property
    def d_head(self):
        return self.d_model // self.num_heads

    def __call__(self, query, key, value):
        q = self.split(query @ self.w_q.T)
        k = self.split(key @ self.w_k.T)
        v = self.split(value @ self.w_v.T)
        q, k = self.placed(q, k)
        out = self.weights(q, k, self.mask(query)) @ v
        return self.join(out) @ self.w_o.T

    def placed(self, q, k):
        """Where subclasses put positions in."""
        return q, k

    def mask(self, query):
        if self.causal:
            return Triangle(query.shape[-2], query.device).allowed
        return None

    def split(self, x):
        """(..., seq, d_model) -> (..., head, seq, d_head)"""
        pieces = x.split(self.d_head, dim=-1)
        return torch.stack(pieces, dim=-3)

    @staticmethod
    def join(x):
        return x.transpose(-3, -2).flatten(-2)

    @staticmethod
    def parameters(d_in, d_out, qkv_bias, out_bias):
        qkv = 3 * (d_in + qkv_bias) * d_out
        out = (d_out + out_bias) * d_out
        return qkv + out


class MultiHead(CrossAttention):
    """Causal self-attention."""

    def __init__(self, d_model, num_heads, *weights):
        super().__init__(d_model, num_heads, *weights, causal=True)

    def __call__(self, x):
        return super().__call__(x, x, x)


class RotaryMultiHead(MultiHead):
    def __init__(self, d_model, num_heads, *weights, theta, max_len):
        super().__init__(d_model, num_heads, *weights)
        self.rotary = Rotary(self.d_head, theta, max_len)
        self.positions = None

    def __call__(self, x, positions=None):
        if positions is None:
            positions = torch.arange(x.shape[-2], device=x.device)
        self.positions = positions.unsqueeze(-2)
        return super().__call__(x)

    def placed(self, q, k):
        return self.rotary(q, self.positions), self.rotary(k, self.positions)
