"""The attention modules of the lectures, from one head to several heads with RoPE."""

from dataclasses import dataclass

import torch
from einops import einsum, rearrange
from jaxtyping import Float, Int
from torch import Tensor, nn

from . import functional as F
from .layers import Linear
from .positional import get_rope


@dataclass
class AttentionConfig:
    d_in: int
    d_out: int
    num_heads: int = 1
    qkv_bias: bool = False
    out_bias: bool = False
    dropout: float = 0.0
    # only for RoPE
    theta: float = 10000.0
    max_seq_len: int | None = None

    @property
    def d_head(self) -> int:
        return self.d_out // self.num_heads


class SelfAttention(nn.Module):
    """One head. Without `causal` every token sees every token."""

    def __init__(self, d_in: int, d_out: int, causal: bool = False, device=None, dtype=None):
        super().__init__()
        self.causal = causal
        self.query = Linear(d_in, d_out, device=device, dtype=dtype)
        self.key = Linear(d_in, d_out, device=device, dtype=dtype)
        self.value = Linear(d_in, d_out, device=device, dtype=dtype)

    def forward(self, x: Float[Tensor, "... seq d_in"]) -> Float[Tensor, "... seq d_out"]:
        q = self.query(x)
        k = self.key(x)
        v = self.value(x)
        mask = None
        if self.causal:
            mask = F.causal_mask(x.shape[-2], device=x.device)
        return F.scaled_dot_product_attention(q, k, v, mask)


class StackedHeads(nn.Module):
    """Several causal heads at once; the weights have a leading axis for the heads."""

    def __init__(self, num_heads: int, d_in: int, d_head: int, device=None, dtype=None):
        super().__init__()
        shape = (num_heads, d_in, d_head)
        self.W_query = nn.Parameter(torch.empty(shape, device=device, dtype=dtype))
        self.W_key = nn.Parameter(torch.empty(shape, device=device, dtype=dtype))
        self.W_value = nn.Parameter(torch.empty(shape, device=device, dtype=dtype))
        for weight in self.parameters():
            nn.init.xavier_normal_(weight)

    def forward(self, x: Float[Tensor, "... seq d_in"]) -> Float[Tensor, "... seq heads*d_head"]:
        project = "... seq d_in, heads d_in d_head -> ... heads seq d_head"
        Q = einsum(x, self.W_query, project)
        K = einsum(x, self.W_key, project)
        V = einsum(x, self.W_value, project)
        mask = F.causal_mask(x.shape[-2], device=x.device)
        context = F.scaled_dot_product_attention(Q, K, V, mask)
        return rearrange(context, "... heads seq d_head -> ... seq (heads d_head)")


class MultiHeadAttention(nn.Module):
    def __init__(self, config: AttentionConfig, device=None, dtype=None):
        super().__init__()
        if config.d_out % config.num_heads != 0:
            raise ValueError("d_out must be divisible by num_heads")
        self.config = config
        self.num_heads = config.num_heads
        kwargs = {"device": device, "dtype": dtype}
        self.q_proj = Linear(config.d_in, config.d_out, bias=config.qkv_bias, **kwargs)
        self.k_proj = Linear(config.d_in, config.d_out, bias=config.qkv_bias, **kwargs)
        self.v_proj = Linear(config.d_in, config.d_out, bias=config.qkv_bias, **kwargs)
        self.output_proj = Linear(config.d_out, config.d_out, bias=config.out_bias, **kwargs)

    def split_heads(self, x: Float[Tensor, "... seq d"]) -> Float[Tensor, "... heads seq d_head"]:
        return rearrange(x, "... seq (h d_head) -> ... h seq d_head", h=self.num_heads)

    def merge_heads(self, x: Float[Tensor, "... heads seq d_head"]) -> Float[Tensor, "... seq d"]:
        return rearrange(x, "... h seq d_head -> ... seq (h d_head)")

    def add_positions(
        self,
        q: Float[Tensor, "... heads q d_head"],
        k: Float[Tensor, "... heads k d_head"],
        token_positions: Int[Tensor, "... seq"] | None,
    ) -> tuple[Tensor, Tensor]:
        # plain multi-head attention knows no positions; the RoPE version overrides this
        return q, k

    def forward(
        self,
        query: Float[Tensor, "... q d_in"],
        key: Float[Tensor, "... k d_in"],
        value: Float[Tensor, "... k d_in"],
        is_causal: bool = False,
        token_positions: Int[Tensor, "... q"] | None = None,
    ) -> Float[Tensor, "... q d_out"]:
        q = self.split_heads(self.q_proj(query))
        k = self.split_heads(self.k_proj(key))
        v = self.split_heads(self.v_proj(value))
        q, k = self.add_positions(q, k, token_positions)
        mask = F.causal_mask(query.shape[-2], device=query.device) if is_causal else None
        context = F.scaled_dot_product_attention(
            q, k, v, mask, dropout_p=self.config.dropout, training=self.training
        )
        return self.output_proj(self.merge_heads(context))


class CausalMultiHeadSelfAttention(MultiHeadAttention):
    def forward(
        self,
        x: Float[Tensor, "... seq d_in"],
        token_positions: Int[Tensor, "... seq"] | None = None,
    ) -> Float[Tensor, "... seq d_out"]:
        return super().forward(x, x, x, is_causal=True, token_positions=token_positions)


class RotaryMultiHeadSelfAttention(CausalMultiHeadSelfAttention):
    def __init__(self, config: AttentionConfig, device=None, dtype=None):
        super().__init__(config, device=device, dtype=dtype)
        self.rope = get_rope(config.theta, config.d_head, config.max_seq_len, device=device)

    def add_positions(
        self,
        q: Float[Tensor, "... heads seq d_head"],
        k: Float[Tensor, "... heads seq d_head"],
        token_positions: Int[Tensor, "... seq"] | None,
    ) -> tuple[Tensor, Tensor]:
        if token_positions is None:
            token_positions = torch.arange(q.shape[-2], device=q.device)
        # the same positions for every head
        token_positions = rearrange(token_positions, "... seq -> ... 1 seq")
        q = self.rope(q, token_positions)
        k = self.rope(k, token_positions)
        return q, k


def count_parameters(module: nn.Module) -> int:
    return sum(p.numel() for p in module.parameters() if p.requires_grad)
