"""One head, stacked heads, and heads that are cut out of one big projection.

Everything with several heads ends up in `Heads`: weights of shape (heads, d_in, d_head).
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from einops import einsum, rearrange
from jaxtyping import Bool, Float
from primitives import attend, causal_mask, total, typed
from torch import Tensor


@typed
def project(
    x: Float[Tensor, "... seq d_in"], W: Float[Tensor, "d_in d_out"]
) -> Float[Tensor, "... seq d_out"]:
    """x @ W, spelled out."""
    return einsum(x, W, "... seq d_in, d_in d_out -> ... seq d_out")


@typed
def single_head(
    W_query: Float[Tensor, "d_in d_out"],
    W_key: Float[Tensor, "d_in d_out"],
    W_value: Float[Tensor, "d_in d_out"],
    x: Float[Tensor, "... seq d_in"],
    causal: bool = False,
) -> Float[Tensor, "... seq d_out"]:
    """Self-attention with one head, causal if asked for."""
    Q, K, V = project(x, W_query), project(x, W_key), project(x, W_value)
    mask = causal_mask(x.shape[-2]).to(x.device) if causal else None
    return attend(Q, K, V, mask)


@typed
def split_rows(
    weight: Float[Tensor, "rows d_in"], num_heads: int
) -> Float[Tensor, "heads d_in d_head"]:
    """Give each head its rows of a Linear's weight, turned so that x @ W works."""
    return rearrange(weight, "(head d_head) d_in -> head d_in d_head", head=num_heads)


@typed
@dataclass(frozen=True)
class Heads:
    """The weights of several heads, which share nothing but their input."""

    query: Float[Tensor, "heads d_in d_head"]
    key: Float[Tensor, "heads d_in d_head"]
    value: Float[Tensor, "heads d_in d_head"]

    @classmethod
    def from_linear(cls, num_heads: int, q: Tensor, k: Tensor, v: Tensor) -> "Heads":
        """Cut the weights of three Linear layers into heads."""
        return cls(
            query=split_rows(q, num_heads),
            key=split_rows(k, num_heads),
            value=split_rows(v, num_heads),
        )

    def __call__(
        self,
        query: Float[Tensor, "... q d_in"],
        key: Float[Tensor, "... k d_in"],
        value: Float[Tensor, "... k d_in"],
        causal: bool = True,
        rotate: Callable[[Tensor], Tensor] | None = None,
    ) -> Float[Tensor, "... q concat"]:
        """Run all heads and lay their outputs side by side."""
        per_head = "... seq d_in, head d_in d_head -> ... head seq d_head"
        Q = einsum(query, self.query, per_head)
        K = einsum(key, self.key, per_head)
        V = einsum(value, self.value, per_head)
        if rotate is not None:
            Q, K = rotate(Q), rotate(K)
        mask: Bool[Tensor, "q k"] | None = None
        if causal:
            mask = causal_mask(query.shape[-2]).to(query.device)
        contexts = attend(Q, K, V, mask)
        return rearrange(contexts, "... head seq d_head -> ... seq (head d_head)")


@typed
def stacked_heads(
    W_query: Float[Tensor, "heads d_in d_head"],
    W_key: Float[Tensor, "heads d_in d_head"],
    W_value: Float[Tensor, "heads d_in d_head"],
    x: Float[Tensor, "... seq d_in"],
) -> Float[Tensor, "... seq concat"]:
    """Causal heads side by side, no output projection."""
    heads = Heads(W_query, W_key, W_value)
    return heads(x, x, x)


@typed
def linear(
    x: Float[Tensor, "... d_in"], weight: Float[Tensor, "d_out d_in"]
) -> Float[Tensor, "... d_out"]:
    """What nn.Linear does without its bias."""
    return einsum(x, weight, "... d_in, d_out d_in -> ... d_out")


@typed
def self_attention(
    num_heads: int,
    q_proj: Float[Tensor, "d_model d_model"],
    k_proj: Float[Tensor, "d_model d_model"],
    v_proj: Float[Tensor, "d_model d_model"],
    o_proj: Float[Tensor, "d_model d_model"],
    x: Float[Tensor, "... seq d_model"],
    rotate: Callable[[Tensor], Tensor] | None = None,
) -> Float[Tensor, "... seq d_model"]:
    """Causal multi-head self-attention, with rotated queries and keys if `rotate` is given."""
    heads = Heads.from_linear(num_heads, q_proj, k_proj, v_proj)
    concat = heads(x, x, x, causal=True, rotate=rotate)
    return linear(concat, o_proj)


@typed
def cross_attention(
    num_heads: int,
    q_proj: Float[Tensor, "d_model d_model"],
    k_proj: Float[Tensor, "d_model d_model"],
    v_proj: Float[Tensor, "d_model d_model"],
    o_proj: Float[Tensor, "d_model d_model"],
    query: Float[Tensor, "... q d_model"],
    key: Float[Tensor, "... k d_model"],
    value: Float[Tensor, "... k d_model"],
    is_causal: bool,
) -> Float[Tensor, "... q d_model"]:
    """Multi-head attention from `query` to `key` and `value`."""
    heads = Heads.from_linear(num_heads, q_proj, k_proj, v_proj)
    concat = heads(query, key, value, causal=is_causal)
    return linear(concat, o_proj)


@typed
def parameter_count(d_in: int, d_out: int, qkv_bias: bool, out_bias: bool) -> int:
    """Numbers in three input projections and one output projection."""
    weights = torch.tensor([3 * d_in * d_out, d_out * d_out])
    biases = torch.tensor([3 * d_out * qkv_bias, d_out * out_bias])
    return total(weights) + total(biases)
