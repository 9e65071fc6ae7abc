import torch
from torch import nn

from PACKAGE.ops import attention, silu, split


class Linear(nn.Module):
    def __init__(self, d_in, d_out, device=None, dtype=None):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(d_out, d_in, device=device, dtype=dtype))
        nn.init.trunc_normal_(self.weight, std=0.02)

    def forward(self, x):
        return x @ self.weight.T


class Embedding(nn.Module):
    def __init__(self, many, d_model, device=None, dtype=None):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(many, d_model, device=device, dtype=dtype))
        nn.init.trunc_normal_(self.weight)

    def forward(self, ids):
        return self.weight[ids]


class RMSNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        kept = x.dtype
        x = x.to(torch.float32) if kept in (torch.float16, torch.bfloat16) else x
        rms = torch.sqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
        return (x / rms * self.weight).to(kept)


class SwiGLU(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.w1, self.w2 = Linear(d_model, d_ff), Linear(d_ff, d_model)
        self.w3 = Linear(d_model, d_ff)

    def forward(self, x):
        return self.w2(silu(self.w1(x)) * self.w3(x))


class RoPE(nn.Module):
    def __init__(self, theta, d_k, max_seq_len):
        super().__init__()
        rates = theta ** (-torch.arange(0, d_k, 2, dtype=torch.float64) / d_k)
        self.register_buffer("rates", rates, persistent=False)

    def forward(self, x, positions):
        angles = positions.to(x.device)[..., None].double() * self.rates.to(x.device)
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        even, odd = x[..., 0::2], x[..., 1::2]
        return torch.stack((even * cos - odd * sin, even * sin + odd * cos), -1).flatten(-2)


class SelfAttention(nn.Module):
    def __init__(self, d_model, heads, rope=None):
        super().__init__()
        self.heads, self.rope = heads, rope
        self.q_proj, self.k_proj = Linear(d_model, d_model), Linear(d_model, d_model)
        self.v_proj, self.output_proj = Linear(d_model, d_model), Linear(d_model, d_model)

    def forward(self, x, positions=None):
        q, k, v = (split(f(x), self.heads) for f in (self.q_proj, self.k_proj, self.v_proj))
        n = x.shape[-2]
        if self.rope is not None:
            positions = torch.arange(n, device=x.device) if positions is None else positions
            if positions.ndim > 1:
                positions = positions.unsqueeze(-2)
            q, k = self.rope(q, positions), self.rope(k, positions)
        mask = torch.ones(n, n, dtype=torch.bool, device=x.device).tril()
        mixed = attention(q, k, v, mask).transpose(-3, -2).flatten(-2)
        return self.output_proj(mixed)


class Block(nn.Module):
    def __init__(self, d_model, heads, d_ff, max_seq_len, theta):
        super().__init__()
        self.ln1, self.ln2 = RMSNorm(d_model), RMSNorm(d_model)
        self.attn = SelfAttention(d_model, heads, RoPE(theta, d_model // heads, max_seq_len))
        self.ffn = SwiGLU(d_model, d_ff)

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.ffn(self.ln2(x))


class TransformerLM(nn.Module):
    def __init__(self, vocab_size, context_length, d_model, layers, heads, d_ff, theta):
        super().__init__()
        self.token_embeddings = Embedding(vocab_size, d_model)
        self.layers = nn.ModuleList(
            Block(d_model, heads, d_ff, context_length, theta) for _ in range(layers)
        )
        self.ln_final = RMSNorm(d_model)
        self.lm_head = Linear(d_model, vocab_size)

    def forward(self, ids):
        x = self.token_embeddings(ids)
        for layer in self.layers:
            x = layer(x)
        return self.lm_head(self.ln_final(x))
