"""Not in the chapter: position encodings. The rotary part is done with complex numbers."""

import torch
from ch03 import MultiHeadAttention


def sinusoidal(context_length, emb_dim):
    pe = torch.zeros(context_length, emb_dim)
    pos = torch.arange(context_length).float().unsqueeze(1)
    two_i = torch.arange(0, emb_dim, 2).float()
    angles = pos / 10000.0 ** (two_i / emb_dim)
    pe[:, 0::2] = torch.sin(angles)
    pe[:, 1::2] = torch.cos(angles)
    return pe


def precompute_freqs_cis(head_dim, context_length, theta_base):
    inv_freq = 1.0 / theta_base ** (torch.arange(0, head_dim, 2).float() / head_dim)
    positions = torch.arange(context_length).float()
    angles = torch.outer(positions, inv_freq)
    # length 1 and the angle -> cos + i sin
    return torch.polar(torch.ones_like(angles), angles)


def apply_rope(x, freqs_cis):
    # neighbouring features (0, 1), (2, 3), ... = real and imaginary part
    as_float = x.float() if x.dtype == torch.bfloat16 else x
    pairs = as_float.reshape(*x.shape[:-1], x.shape[-1] // 2, 2)
    x_complex = torch.view_as_complex(pairs)
    x_rotated = x_complex * freqs_cis
    return torch.view_as_real(x_rotated).flatten(-2).to(x.dtype)


class RoPEMultiHeadAttention(MultiHeadAttention):
    def __init__(self, d_in, d_out, context_length, num_heads, theta_base=10_000.0):
        super().__init__(d_in, d_out, context_length, num_heads)
        freqs_cis = precompute_freqs_cis(self.head_dim, context_length, theta_base)
        self.register_buffer("freqs_cis", freqs_cis, persistent=False)

    def forward(self, x, positions=None):
        if positions is None:
            positions = torch.arange(x.shape[-2], device=x.device)
        # one more axis, so that all heads get the same angles
        freqs_cis = self.freqs_cis[positions].unsqueeze(-3)
        queries = apply_rope(self.split_heads(self.W_query(x)), freqs_cis)
        keys = apply_rope(self.split_heads(self.W_key(x)), freqs_cis)
        values = self.split_heads(self.W_value(x))
        return self.attend(queries, keys, values, causal=True)
