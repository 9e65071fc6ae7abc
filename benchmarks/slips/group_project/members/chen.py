"""Chen: configs, lists of heads, and tables that are made once and then looked up."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

TABLES = {}


@dataclass(frozen=True)
class Sizes:
    d_in: int
    d_out: int
    qkv_bias: bool = False
    out_bias: bool = True


@dataclass(frozen=True)
class HeadsConfig:
    d_model: int
    num_heads: int
    causal: bool = True
    theta: float = 0.0
    max_seq_len: int = 0

    @property
    def d_head(self):
        return self.d_model // self.num_heads

    @property
    def uses_rope(self):
        return self.theta > 0


@dataclass(frozen=True)
class Projections:
    q: Tensor
    k: Tensor
    v: Tensor
    o: Tensor


def count_linear(fan_in, fan_out, bias):
    count = fan_in * fan_out
    if bias:
        count += fan_out
    return count


def count_parameters(sizes):
    one = count_linear(sizes.d_in, sizes.d_out, sizes.qkv_bias)
    out = count_linear(sizes.d_out, sizes.d_out, sizes.out_bias)
    return 3 * one + out


def make_table(length, width, base):
    steps = torch.arange(0, width, 2, dtype=torch.float64)
    speeds = 1.0 / base ** (steps / width)
    places = torch.arange(length, dtype=torch.float64)
    angles = torch.outer(places, speeds)
    return torch.sin(angles), torch.cos(angles)


def table(length, width, base):
    key = (length, width, base)
    if key not in TABLES:
        TABLES[key] = make_table(length, width, base)
    return TABLES[key]


def sinusoidal(seq_len, d_model):
    sines, cosines = table(seq_len, d_model, 10000.0)
    encoding = torch.zeros(seq_len, d_model)
    encoding[:, 0::2] = sines
    encoding[:, 1::2] = cosines
    return encoding


def turn(head, positions, config):
    sines, cosines = table(config.max_seq_len, config.d_head, config.theta)
    sin = sines.to(head)[positions].unsqueeze(-1)
    cos = cosines.to(head)[positions].unsqueeze(-1)
    real, imag = head.unflatten(-1, (-1, 2)).chunk(2, dim=-1)
    turned = [real * cos - imag * sin, real * sin + imag * cos]
    return torch.cat(turned, dim=-1).flatten(-2)


def hides_future(length, device):
    row = torch.arange(length, device=device)[:, None]
    column = torch.arange(length, device=device)[None, :]
    return column > row


def attend(q, k, v, causal):
    logits = torch.matmul(q, k.mT) / q.size(-1) ** 0.5
    if causal:
        hidden = hides_future(q.size(-2), q.device)
        logits = logits.masked_fill(hidden, float("-inf"))
    return torch.matmul(F.softmax(logits, dim=-1), v)


def stacked(x, W_query, W_key, W_value):
    per_head = [(W_query[h], W_key[h], W_value[h]) for h in range(len(W_query))]
    heads = [attend(x @ w_q, x @ w_k, x @ w_v, causal=True) for w_q, w_k, w_v in per_head]
    return torch.cat(heads, dim=-1)


def multihead(config, projections, query, key, value, positions=None):
    q_heads = F.linear(query, projections.q).split(config.d_head, dim=-1)
    k_heads = F.linear(key, projections.k).split(config.d_head, dim=-1)
    v_heads = F.linear(value, projections.v).chunk(config.num_heads, dim=-1)
    if config.uses_rope:
        if positions is None:
            positions = torch.arange(query.size(-2), device=query.device)
        q_heads = [turn(q, positions, config) for q in q_heads]
        k_heads = [turn(k, positions, config) for k in k_heads]
    triples = zip(q_heads, k_heads, v_heads)
    contexts = [attend(q, k, v, config.causal) for q, k, v in triples]
    merged = torch.cat(contexts, dim=-1)
    return F.linear(merged, projections.o)
