import math

import torch
from torch import Tensor


def sinusoidal_table(length: int, d_model: int) -> Tensor:
    """Section 3.5: sines in the even columns, cosines in the odd ones."""
    pairs = math.ceil(d_model / 2)
    div = torch.exp(torch.arange(pairs) * (-2 * math.log(10000.0) / d_model))
    angle = torch.arange(length).unsqueeze(1) * div
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)[:, :d_model]
