import torch
from torch import Tensor, nn


class RotaryEmbedding(nn.Module):
    """RoPE with the sines and cosines of every position worked out once.

    The tables are not persistent: they follow the module to its device, but they are not weights
    and have no business in a state dict.
    """

    cos: Tensor
    sin: Tensor

    def __init__(self, d_k: int, theta: float, max_seq_len: int, device=None):
        super().__init__()
        exponent = torch.arange(0, d_k, 2, dtype=torch.float32, device=device) / d_k
        inv_freq = 1.0 / theta**exponent
        angles = torch.outer(torch.arange(max_seq_len, dtype=torch.float32, device=device), inv_freq)
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        cos, sin = self.cos[positions], self.sin[positions]
        x1, x2 = x.unflatten(-1, (-1, 2)).unbind(-1)
        out = torch.stack([x1 * cos - x2 * sin, x1 * sin + x2 * cos], dim=-1)
        return out.flatten(-2).type_as(x)
