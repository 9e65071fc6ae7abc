# modules and einsum, all in one file
import torch
from torch import einsum, nn


class LayerNorm(nn.Module):
    def __init__(self, d, eps, dtype=None, device=None):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d, dtype=dtype, device=device))
        self.bias = nn.Parameter(torch.zeros(d, dtype=dtype, device=device))

    def forward(self, x):
        centred = x - x.mean(dim=-1, keepdim=True)
        variance = einsum("...d,...d->...", centred, centred) / x.shape[-1]
        return centred / (variance + self.eps).sqrt().unsqueeze(-1) * self.weight + self.bias


class SwiGLU(nn.Module):
    def __init__(self, gate, up, down):
        super().__init__()
        self.gate, self.up, self.down = gate, up, down

    def forward(self, x):
        gate = run_silu(einsum("...d,fd->...f", x, self.gate))
        return einsum("...f,df->...d", gate * einsum("...d,fd->...f", x, self.up), self.down)


def run_layer_norm(in_features, weight, bias, eps):
    module = LayerNorm(in_features.shape[-1], eps, in_features.dtype, in_features.device)
    return torch.func.functional_call(module, {"weight": weight, "bias": bias}, (in_features,))


def run_rms_norm(in_features, weight, eps):
    rms = (einsum("...d,...d->...", in_features, in_features) / in_features.shape[-1] + eps) ** 0.5
    return in_features / rms[..., None] * weight


def run_silu(in_features):
    return in_features / (1 + torch.exp(-in_features))


def run_swiglu(gate_weight, up_weight, down_weight, in_features):
    return SwiGLU(gate_weight, up_weight, down_weight)(in_features)
