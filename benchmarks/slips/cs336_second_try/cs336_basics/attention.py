import torch
from einops import einsum, rearrange
from torch import Tensor, nn

from .layers import Linear, RotaryPositionalEmbedding
from .nn_utils import causal_mask, scaled_dot_product_attention, softmax


def simple_self_attention(x: Tensor) -> Tensor:
    scores = einsum(x, x, "... q d, ... k d -> ... q k")
    probs = softmax(scores, dim=-1)
    return einsum(probs, x, "... q k, ... k d -> ... q d")


class SelfAttention(nn.Module):
    """One head, weights stored (d_in, d_out) as in the warm-up."""

    def __init__(self, W_query: Tensor, W_key: Tensor, W_value: Tensor, causal: bool = False):
        super().__init__()
        self.W_query = W_query
        self.W_key = W_key
        self.W_value = W_value
        self.causal = causal

    def forward(self, x: Tensor) -> Tensor:
        Q, K, V = x @ self.W_query, x @ self.W_key, x @ self.W_value
        mask = causal_mask(x.shape[-2], x.device) if self.causal else None
        return scaled_dot_product_attention(Q, K, V, mask)


def stacked_attention(W_query: Tensor, W_key: Tensor, W_value: Tensor, x: Tensor) -> Tensor:
    Q = einsum(x, W_query, "... seq d_in, h d_in d_head -> ... h seq d_head")
    K = einsum(x, W_key, "... seq d_in, h d_in d_head -> ... h seq d_head")
    V = einsum(x, W_value, "... seq d_in, h d_in d_head -> ... h seq d_head")
    mask = causal_mask(x.shape[-2], x.device)
    heads = scaled_dot_product_attention(Q, K, V, mask)
    return rearrange(heads, "... h seq d_head -> ... seq (h d_head)")


class MultiHeadAttention(nn.Module):
    """Queries from one sequence, keys and values from another. Base class of the causal one."""

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        rope: RotaryPositionalEmbedding | None = None,
        device: torch.device | None = None,
        dtype: torch.dtype | None = None,
    ):
        super().__init__()
        assert d_model % num_heads == 0
        self.d_model = d_model
        self.num_heads = num_heads
        self.d_head = d_model // num_heads
        self.rope = rope
        factory_kwargs = {"device": device, "dtype": dtype}
        self.q_proj = Linear(d_model, d_model, **factory_kwargs)
        self.k_proj = Linear(d_model, d_model, **factory_kwargs)
        self.v_proj = Linear(d_model, d_model, **factory_kwargs)
        self.output_proj = Linear(d_model, d_model, **factory_kwargs)

    def split_heads(self, x: Tensor) -> Tensor:
        return rearrange(x, "... seq (h d) -> ... h seq d", h=self.num_heads)

    def merge_heads(self, x: Tensor) -> Tensor:
        return rearrange(x, "... h seq d -> ... seq (h d)")

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None = None,
        token_positions: Tensor | None = None,
    ) -> Tensor:
        Q = self.split_heads(self.q_proj(query))
        K = self.split_heads(self.k_proj(key))
        V = self.split_heads(self.v_proj(value))

        if self.rope is not None:
            if token_positions is None:
                token_positions = torch.arange(query.shape[-2], device=query.device)
            # same rotation in every head
            token_positions = rearrange(token_positions, "... seq -> ... 1 seq")
            Q = self.rope(Q, token_positions)
            K = self.rope(K, token_positions)

        attn = scaled_dot_product_attention(Q, K, V, mask)
        return self.output_proj(self.merge_heads(attn))


class CausalMultiHeadSelfAttention(MultiHeadAttention):
    def forward(self, x: Tensor, token_positions: Tensor | None = None) -> Tensor:
        seq_len = x.shape[-2]
        mask = causal_mask(seq_len, x.device)
        return super().forward(x, x, x, mask=mask, token_positions=token_positions)


def count_parameters(d_in: int, d_out: int, qkv_bias: bool, out_bias: bool) -> int:
    layers = nn.ModuleDict(
        {
            "q_proj": nn.Linear(d_in, d_out, bias=qkv_bias),
            "k_proj": nn.Linear(d_in, d_out, bias=qkv_bias),
            "v_proj": nn.Linear(d_in, d_out, bias=qkv_bias),
            "output_proj": nn.Linear(d_out, d_out, bias=out_bias),
        }
    )
    return sum(p.numel() for p in layers.parameters())
