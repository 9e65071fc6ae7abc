import math

import torch
from einops import rearrange
from jaxtyping import Bool, Float
from torch import Tensor


def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    x_max = x.max(dim, keepdim=True)[0]
    x_exp = (x - x_max).exp()
    return x_exp / x_exp.sum(dim, keepdim=True)


def lower_triangular(n: int, device: torch.device | str | None = None) -> Bool[Tensor, "n n"]:
    idx = torch.arange(n, device=device)
    return idx.unsqueeze(1).ge(idx)


def attention_probs(
    q: Float[Tensor, "... n d_k"],
    k: Float[Tensor, "... m d_k"],
    mask: Bool[Tensor, "... n m"] | None = None,
) -> Float[Tensor, "... n m"]:
    logits = torch.einsum("...nd,...md->...nm", q, k) / math.sqrt(q.shape[-1])
    if mask is not None:
        logits = logits.masked_fill(mask == False, float("-inf"))  # noqa: E712
    return softmax(logits, -1)


def scaled_dot_product_attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    return torch.einsum("...nm,...md->...nd", attention_probs(q, k, mask), v)


def split(x: Float[Tensor, "... s d"], h: int) -> Float[Tensor, "... h s d_h"]:
    return rearrange(x, "... s (h d) -> ... h s d", h=h)


def merge(x: Float[Tensor, "... h s d_h"]) -> Float[Tensor, "... s d"]:
    return rearrange(x, "... h s d -> ... s (h d)")
