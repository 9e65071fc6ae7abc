"""Small layers: Linear and Dropout, written from scratch."""

import math

import torch
from einops import einsum
from jaxtyping import Float
from torch import Tensor, nn

from . import functional as F


class Linear(nn.Module):
    """y = x W^T (+ b). The weight is stored as (d_out, d_in), as in torch.nn.Linear."""

    def __init__(
        self,
        d_in: int,
        d_out: int,
        bias: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ):
        super().__init__()
        self.d_in = d_in
        self.d_out = d_out
        self.weight = nn.Parameter(torch.empty(d_out, d_in, device=device, dtype=dtype))
        if bias:
            self.bias = nn.Parameter(torch.zeros(d_out, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        std = math.sqrt(2.0 / (self.d_in + self.d_out))
        nn.init.trunc_normal_(self.weight, mean=0.0, std=std, a=-3 * std, b=3 * std)

    def forward(self, x: Float[Tensor, "... d_in"]) -> Float[Tensor, "... d_out"]:
        y = einsum(x, self.weight, "... d_in, d_out d_in -> ... d_out")
        if self.bias is not None:
            y = y + self.bias
        return y


class Dropout(nn.Module):
    def __init__(self, p: float = 0.0):
        super().__init__()
        if not 0.0 <= p < 1.0:
            raise ValueError(f"dropout probability must be in [0, 1), got {p}")
        self.p = p

    def forward(self, x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        return F.dropout(x, self.p, self.training)
