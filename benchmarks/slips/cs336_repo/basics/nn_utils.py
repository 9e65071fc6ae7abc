"""Building blocks that everything else is made of."""

from __future__ import annotations

import math

import torch
from einops import einsum
from jaxtyping import Float
from torch import Tensor, nn


def softmax(in_features: Float[Tensor, " ..."], dim: int = -1) -> Float[Tensor, " ..."]:
    """Numerically stable softmax over dimension `dim`."""
    max_vals = in_features.amax(dim=dim, keepdim=True)
    exp_vals = torch.exp(in_features - max_vals)
    denominator = exp_vals.sum(dim=dim, keepdim=True)
    return exp_vals / denominator


def dropout(x: Float[Tensor, " ..."], p: float, training: bool) -> Float[Tensor, " ..."]:
    """Inverted dropout: the expected value of the output is the input."""
    if not training or p == 0.0:
        return x
    keep_prob = 1.0 - p
    keep = torch.rand_like(x) < keep_prob
    return x * keep / keep_prob


def count_parameters(module: nn.Module) -> int:
    return sum(param.numel() for param in module.parameters())


class Linear(nn.Module):
    """y = x W^T (+ b), the weight stored as (out_features, in_features)."""

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = False,
        device: torch.device | None = None,
        dtype: torch.dtype | None = None,
    ):
        super().__init__()
        factory_kwargs = {"device": device, "dtype": dtype}
        self.weight = nn.Parameter(torch.empty(out_features, in_features, **factory_kwargs))
        self.bias = nn.Parameter(torch.zeros(out_features, **factory_kwargs)) if bias else None
        std = math.sqrt(2.0 / (in_features + out_features))
        nn.init.trunc_normal_(self.weight, mean=0.0, std=std, a=-3 * std, b=3 * std)

    def forward(self, x: Float[Tensor, " ... d_in"]) -> Float[Tensor, " ... d_out"]:
        out = einsum(x, self.weight, "... d_in, d_out d_in -> ... d_out")
        return out if self.bias is None else out + self.bias
