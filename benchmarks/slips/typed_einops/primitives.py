"""The pieces that every kind of attention is made of."""

import math

import torch
from beartype import beartype
from einops import einsum, rearrange, reduce
from jaxtyping import Bool, Float, Int, jaxtyped
from torch import Tensor

typed = jaxtyped(typechecker=beartype)


@typed
def softmax(x: Float[Tensor, "*shape"], dim: int) -> Float[Tensor, "*shape"]:
    """Softmax, shifted by the maximum so that exp does not overflow."""
    exps = torch.exp(x - x.amax(dim=dim, keepdim=True))
    return exps / exps.sum(dim=dim, keepdim=True)


@typed
def causal_mask(seq_len: int) -> Bool[Tensor, "seq seq"]:
    """Entry (q, k) says whether query q may look at key k."""
    index: Int[Tensor, "seq"] = torch.arange(seq_len)
    query, key = rearrange(index, "q -> q 1"), rearrange(index, "k -> 1 k")
    return key <= query


@typed
def similarity(
    Q: Float[Tensor, "... queries d_k"], K: Float[Tensor, "... keys d_k"]
) -> Float[Tensor, "... queries keys"]:
    """All dot products of a query with a key."""
    return einsum(Q, K, "... queries d, ... keys d -> ... queries keys")


@typed
def mix(
    weights: Float[Tensor, "... queries keys"], V: Float[Tensor, "... keys d_v"]
) -> Float[Tensor, "... queries d_v"]:
    """The averages of the values by the weights."""
    return einsum(weights, V, "... queries keys, ... keys d -> ... queries d")


@typed
def attention_weights(
    Q: Float[Tensor, "... queries d_k"],
    K: Float[Tensor, "... keys d_k"],
    mask: Bool[Tensor, "... queries keys"] | None = None,
) -> Float[Tensor, "... queries keys"]:
    """softmax(QK^T / sqrt(d_k)), nothing where the mask is False."""
    scores = similarity(Q, K) / math.sqrt(K.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return softmax(scores, dim=-1)


@typed
def attend(
    Q: Float[Tensor, "... queries d_k"],
    K: Float[Tensor, "... keys d_k"],
    V: Float[Tensor, "... keys d_v"],
    mask: Bool[Tensor, "... queries keys"] | None = None,
) -> Float[Tensor, "... queries d_v"]:
    """Scaled dot-product attention."""
    return mix(attention_weights(Q, K, mask), V)


@typed
def dropout(weights: Float[Tensor, "*shape"], p: float, training: bool) -> Float[Tensor, "*shape"]:
    """Inverted dropout."""
    if not training:
        return weights
    keep = 1.0 - p
    survives: Bool[Tensor, "*shape"] = torch.rand_like(weights) < keep
    return weights * survives / keep


@typed
def unweighted_self_attention(
    x: Float[Tensor, "... seq d"],
) -> Float[Tensor, "... seq d"]:
    """Every token is query, key and value at once."""
    shares = softmax(similarity(x, x), dim=-1)
    return mix(shares, x)


@typed
def total(sizes: Int[Tensor, "n"]) -> int:
    """The sum of some sizes."""
    return int(reduce(sizes, "n -> ", "sum"))
