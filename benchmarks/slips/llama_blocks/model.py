import math
from dataclasses import dataclass
from typing import Optional

import torch
from torch import nn

from ops import apply_rotary_emb, causal_bias, precompute_freqs_cis, repeat_kv, softmax


@dataclass
class ModelArgs:
    dim: int = 512
    n_heads: int = 8
    n_kv_heads: Optional[int] = None
    rope_theta: float = 10000.0
    max_seq_len: int = 2048
    use_rope: bool = False
    causal: bool = True


def attention_scores(xq, xk, bias: Optional[torch.Tensor] = None) -> torch.Tensor:
    head_dim = xq.size(-1)
    scores = torch.matmul(xq, xk.transpose(-2, -1)) / math.sqrt(head_dim)
    if bias is not None:
        scores = scores + bias
    return softmax(scores, dim=-1)


class Attention(nn.Module):
    def __init__(self, args: ModelArgs):
        super().__init__()
        self.n_heads = args.n_heads
        self.n_kv_heads = args.n_heads if args.n_kv_heads is None else args.n_kv_heads
        self.n_rep = self.n_heads // self.n_kv_heads
        self.head_dim = args.dim // args.n_heads
        self.causal = args.causal
        self.use_rope = args.use_rope
        self.theta = args.rope_theta
        self.max_seq_len = args.max_seq_len
        self.wq = nn.Linear(args.dim, self.n_heads * self.head_dim, bias=False)
        self.wk = nn.Linear(args.dim, self.n_kv_heads * self.head_dim, bias=False)
        self.wv = nn.Linear(args.dim, self.n_kv_heads * self.head_dim, bias=False)
        self.wo = nn.Linear(self.n_heads * self.head_dim, args.dim, bias=False)

    def load(self, wq, wk, wv, wo):
        weights = {"wq.weight": wq, "wk.weight": wk, "wv.weight": wv, "wo.weight": wo}
        self.load_state_dict(weights, assign=True)
        return self

    def forward(
        self,
        x: torch.Tensor,
        context: Optional[torch.Tensor] = None,
        values: Optional[torch.Tensor] = None,
        positions: Optional[torch.Tensor] = None,
    ) -> torch.Tensor:
        context = x if context is None else context
        values = context if values is None else values
        bsz, seqlen, _ = x.shape
        kvlen = context.shape[1]
        xq, xk, xv = self.wq(x), self.wk(context), self.wv(values)

        xq = xq.view(bsz, seqlen, self.n_heads, self.head_dim)
        xk = xk.view(bsz, kvlen, self.n_kv_heads, self.head_dim)
        xv = xv.view(bsz, kvlen, self.n_kv_heads, self.head_dim)

        if self.use_rope:
            table = precompute_freqs_cis(self.head_dim, self.max_seq_len, self.theta, x.device)
            if positions is None:
                freqs_cis = table[:seqlen].unsqueeze(0)
            else:
                freqs_cis = table[positions]
            xq, xk = apply_rotary_emb(xq, xk, freqs_cis)

        keys = repeat_kv(xk, self.n_rep).transpose(1, 2)
        vals = repeat_kv(xv, self.n_rep).transpose(1, 2)
        xq = xq.transpose(1, 2)

        bias = causal_bias(seqlen, xq) if self.causal else None
        weights = attention_scores(xq, keys, bias)
        output = torch.matmul(weights, vals)
        output = output.transpose(1, 2).contiguous().view(bsz, seqlen, -1)
        return self.wo(output)


class StackedHeads(nn.Module):
    """Every head has a matrix of its own; the tokens are shared like the keys of grouped heads."""

    def __init__(self, wq, wk, wv):
        super().__init__()
        self.n_heads, self.dim, self.head_dim = wq.shape
        self.wq, self.wk, self.wv = wq, wk, wv

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        bsz, seqlen, _ = x.shape
        shared = repeat_kv(x.unsqueeze(2), self.n_heads).transpose(1, 2)
        xq, xk, xv = shared @ self.wq, shared @ self.wk, shared @ self.wv
        weights = attention_scores(xq, xk, causal_bias(seqlen, x))
        output = (weights @ xv).transpose(1, 2)
        return output.reshape(bsz, seqlen, self.n_heads * self.head_dim)


def num_params(args_in: int, args_out: int, qkv_bias: bool, out_bias: bool) -> int:
    total = 3 * args_in * args_out
    total += args_out * args_out
    if qkv_bias:
        total += 3 * args_out
    if out_bias:
        total += args_out
    return total
