import torch
import torch.nn.functional as F

NEG_INF = float("-inf")


def weights(q, k, mask=None):
    logits = q.matmul(k.transpose(-1, -2)).mul(q.shape[-1] ** -0.5)
    if mask is not None:
        # additive form of the mask: 0 where allowed, -inf where not
        bias = torch.zeros_like(mask, dtype=logits.dtype).masked_fill(~mask, NEG_INF)
        logits = logits + bias
    return F.softmax(logits, dim=-1)


def attend(q, k, v, mask=None):
    return weights(q, k, mask).matmul(v)


def tril_mask(n, device=None):
    return torch.ones((n, n), device=device).tril().to(torch.bool)


class Dropout:
    """Inverted dropout: zero with probability p, scale what is left by 1 / (1 - p)."""

    def __init__(self, p):
        self.p = p

    def __call__(self, x):
        if self.p >= 1:
            return torch.zeros_like(x)
        keep = torch.rand_like(x) >= self.p
        return torch.where(keep, x / (1 - self.p), 0)


class Heads:
    def __init__(self, num_heads):
        self.num_heads = num_heads

    def open(self, x):
        shape = x.shape[:-1] + (self.num_heads, x.shape[-1] // self.num_heads)
        return x.reshape(shape).movedim(-2, -3)

    def close(self, x):
        return x.movedim(-3, -2).flatten(start_dim=-2)


class MultiHeadAttention:
    def __init__(self, num_heads, q_proj, k_proj, v_proj, o_proj):
        self.heads = Heads(num_heads)
        self.q_proj = q_proj
        self.k_proj = k_proj
        self.v_proj = v_proj
        self.o_proj = o_proj

    def forward(self, query, key, value, causal, rope=None, positions=None):
        q = self.heads.open(F.linear(query, self.q_proj))
        k = self.heads.open(F.linear(key, self.k_proj))
        v = self.heads.open(F.linear(value, self.v_proj))
        if rope is not None:
            q = rope.forward(q, positions)
            k = rope.forward(k, positions)
        mask = tril_mask(query.shape[-2], query.device) if causal else None
        return F.linear(self.heads.close(attend(q, k, v, mask)), self.o_proj)


class Rope:
    def __init__(self, d_k, theta, max_seq_len, device):
        # tokens are counted 1, 2, 3, ... max_seq_len
        position = torch.arange(1, max_seq_len + 1, device=device).float()
        frequency = theta ** (-torch.arange(0, d_k, 2, device=device).float() / d_k)
        self.angle = position[:, None] * frequency[None, :]

    def forward(self, x, positions):
        angle = self.angle[positions]
        cos, sin = torch.cos(angle).to(x.dtype), torch.sin(angle).to(x.dtype)
        a, b = x.reshape(x.shape[:-1] + (-1, 2)).unbind(-1)
        return torch.stack([a * cos - b * sin, b * cos + a * sin], dim=-1).reshape(x.shape)


def sinusoidal(seq_len, d_model):
    i = torch.arange(d_model) // 2
    angle = torch.arange(seq_len)[:, None] / torch.pow(10000, 2 * i / d_model)
    angle[:, 0::2] = torch.sin(angle[:, 0::2])
    angle[:, 1::2] = torch.cos(angle[:, 1::2])
    return angle
