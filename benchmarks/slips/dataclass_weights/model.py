"""Attention as plain data: configurations and weights are dataclasses with methods."""

from dataclasses import dataclass, field, replace

import torch
import torch.nn.functional as F
from torch import Tensor


@dataclass(frozen=True)
class Config:
    d_model: int
    num_heads: int
    max_seq_len: int = 0
    theta: float | None = None
    causal: bool = True

    @property
    def d_head(self) -> int:
        return self.d_model // self.num_heads

    def without_causality(self) -> "Config":
        return replace(self, causal=False)


@dataclass
class Scores:
    """What queries say about keys, before anything is shared out."""

    values: Tensor

    @classmethod
    def between(cls, q: Tensor, k: Tensor, temperature: float | None = None) -> "Scores":
        if temperature is None:
            temperature = q.size(-1) ** 0.5
        return cls(q @ k.transpose(-1, -2) / temperature)

    def seen_through(self, mask: Tensor | None) -> "Scores":
        if mask is None:
            return self
        lowest = torch.full_like(self.values, float("-inf"))
        return Scores(torch.where(mask, self.values, lowest))

    def weights(self) -> Tensor:
        return F.softmax(self.values, dim=-1)


@dataclass
class CausalMask:
    seq_len: int
    device: torch.device | None = None

    def tensor(self) -> Tensor:
        everything = torch.ones(self.seq_len, self.seq_len, dtype=torch.bool, device=self.device)
        future = everything.triu(diagonal=1)
        return ~future


@dataclass
class SingleHead:
    W_query: Tensor
    W_key: Tensor
    W_value: Tensor
    causal: bool = False

    def mask(self, x: Tensor) -> Tensor | None:
        return CausalMask(x.size(-2), x.device).tensor() if self.causal else None

    def __call__(self, x: Tensor) -> Tensor:
        scores = Scores.between(x @ self.W_query, x @ self.W_key)
        return scores.seen_through(self.mask(x)).weights() @ (x @ self.W_value)


@dataclass
class Dropout:
    p: float

    def __call__(self, weights: Tensor) -> Tensor:
        keep = torch.full_like(weights, 1 - self.p).bernoulli()
        return weights * keep / (1 - self.p)


@dataclass
class Rotary:
    """Pairs as complex numbers, turned by numbers of length one."""

    d: int
    theta: float
    max_seq_len: int
    device: torch.device | None = None
    turns: Tensor = field(init=False)

    def __post_init__(self) -> None:
        pair = torch.arange(self.d // 2, device=self.device)
        speed = self.theta ** (-2 * pair / self.d)
        angles = torch.outer(torch.arange(self.max_seq_len, device=self.device), speed)
        self.turns = torch.polar(torch.ones_like(angles), angles)

    def __call__(self, x: Tensor, positions: Tensor) -> Tensor:
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        pairs = torch.view_as_complex(wide.unflatten(-1, (-1, 2)).contiguous())
        turned = torch.view_as_real(pairs * self.turns[positions])
        return turned.flatten(-2).to(x.dtype)


@dataclass
class Weights:
    q: Tensor
    k: Tensor
    v: Tensor
    o: Tensor

    def project(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return F.linear(query, self.q), F.linear(key, self.k), F.linear(value, self.v)


@dataclass
class MultiHead:
    config: Config
    weights: Weights

    def split(self, x: Tensor) -> Tensor:
        cut = x.unflatten(-1, (self.config.num_heads, self.config.d_head))
        return cut.movedim(-2, -3)

    def merge(self, heads: Tensor) -> Tensor:
        return heads.movedim(-3, -2).flatten(-2)

    def rotary(self, device: torch.device) -> Rotary | None:
        if self.config.theta is None:
            return None
        return Rotary(self.config.d_head, self.config.theta, self.config.max_seq_len, device)

    def __call__(
        self, query: Tensor, key: Tensor, value: Tensor, positions: Tensor | None = None
    ) -> Tensor:
        q, k, v = (self.split(part) for part in self.weights.project(query, key, value))
        rotary = self.rotary(query.device)
        if rotary:
            if positions is None:
                positions = torch.arange(query.size(-2), device=query.device)
            positions = positions.unsqueeze(-2)
            q, k = rotary(q, positions), rotary(k, positions)
        mask = CausalMask(query.size(-2), query.device).tensor() if self.config.causal else None
        context = Scores.between(q, k).seen_through(mask).weights() @ v
        return F.linear(self.merge(context), self.weights.o)


@dataclass(frozen=True)
class Layer:
    rows: int
    columns: int
    bias: bool = False

    def size(self) -> int:
        return self.rows * self.columns + self.bias * self.rows


@dataclass
class Sinusoids:
    d_model: int
    base: float = 10_000.0

    def angles(self, seq_len: int) -> Tensor:
        even = torch.arange(0, self.d_model, 2)
        return torch.arange(seq_len)[:, None] * self.base ** (-even / self.d_model)

    def table(self, seq_len: int) -> Tensor:
        angles = self.angles(seq_len)
        return torch.stack([angles.sin(), angles.cos()], dim=-1).reshape(seq_len, self.d_model)
