"""Masks by kind: None, "full", "causal", or a tensor that says it itself."""

import torch
from torch import Tensor


def allowed(kind, queries, keys, device=None):
    """Which query may see which key, as a boolean tensor, or None if all may see all."""
    match kind:
        case None | "full":
            return None
        case "causal":
            rank = torch.ones(queries, keys, device=device).cumsum(dim=0)
            column = torch.ones(queries, keys, device=device).cumsum(dim=1)
            return column <= rank
        case Tensor():
            return kind
        case _:
            raise ValueError(f"no such mask: {kind}")
