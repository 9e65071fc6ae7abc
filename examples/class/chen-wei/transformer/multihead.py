import torch
from torch import Tensor, nn

from .functional import attention, causal_mask
from .rotary import RotaryEmbedding
from .single_head import SelfAttention


class StackedHeads(nn.Module):
    """Several causal heads side by side, each with projections of its own."""

    def __init__(self, d_in: int, d_head: int, num_heads: int, context_length: int, **factory):
        super().__init__()
        self.heads = nn.ModuleList(
            SelfAttention(d_in, d_head, context_length, **factory) for _ in range(num_heads)
        )

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([head(x) for head in self.heads], dim=-1)


class MultiHeadAttention(nn.Module):
    def __init__(
        self,
        d_model: int,
        num_heads: int,
        rope: RotaryEmbedding | None = None,
        **factory,
    ):
        super().__init__()
        assert d_model % num_heads == 0, "d_model must be a multiple of num_heads"
        self.num_heads = num_heads
        self.q_proj = nn.Linear(d_model, d_model, bias=False, **factory)
        self.k_proj = nn.Linear(d_model, d_model, bias=False, **factory)
        self.v_proj = nn.Linear(d_model, d_model, bias=False, **factory)
        self.o_proj = nn.Linear(d_model, d_model, bias=False, **factory)
        self.rope = rope

    def _heads(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.num_heads, -1)).transpose(-3, -2)

    def forward(
        self,
        query: Tensor,
        key: Tensor | None = None,
        value: Tensor | None = None,
        is_causal: bool = False,
        positions: Tensor | None = None,
    ) -> Tensor:
        key = query if key is None else key
        value = key if value is None else value
        q = self._heads(self.q_proj(query))
        k = self._heads(self.k_proj(key))
        v = self._heads(self.v_proj(value))

        if self.rope is not None:
            if positions is None:
                positions = torch.arange(query.size(-2), device=query.device)
            positions = positions.unsqueeze(-2)  # an axis for the heads
            q, k = self.rope(q, positions), self.rope(k, positions)

        mask = causal_mask(q.size(-2), device=q.device) if is_causal else None
        out = attention(q, k, v, mask)
        return self.o_proj(out.transpose(-3, -2).flatten(-2))
