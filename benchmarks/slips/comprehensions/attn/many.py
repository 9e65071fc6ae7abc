"""Several heads: lists of things, one for each head."""

import torch

from attn.rope import rotate
from attn.single import attend, attend_with, causal_mask


def stacked(W_query, W_key, W_value, x):
    trios = zip(W_query, W_key, W_value, strict=True)
    return torch.cat([attend_with(trio, x, causal=True) for trio in trios], dim=-1)


def heads_of(x, weight, num_heads):
    """(..., seq, d_model) -> (..., heads, seq, d_head), one block of rows for each head."""
    return torch.stack([x @ rows.T for rows in weight.chunk(num_heads)], dim=-3)


def output(heads, weight):
    """The concatenation times the output matrix, summed up head by head."""
    blocks = weight.chunk(heads.shape[-3], dim=1)
    return sum(head @ block.T for head, block in zip(heads.unbind(-3), blocks, strict=True))


def multihead(num_heads, weights, inputs, causal, rotary=None):
    *projections, w_o = weights
    q, k, v = (heads_of(x, w, num_heads) for x, w in zip(inputs, projections, strict=True))
    if rotary is not None:
        theta, positions = rotary
        q, k = (rotate(part, positions[..., None, :], theta) for part in (q, k))
    mask = causal_mask(q.shape[-2], q.device) if causal else None
    return output(attend(q, k, v, mask), w_o)


def parameters(d_in, d_out, qkv_bias, out_bias):
    layers = [(d_in, d_out, qkv_bias)] * 3 + [(d_out, d_out, out_bias)]
    return sum(i * o + (o if bias else 0) for i, o, bias in layers)
