import torch
import torch.nn.functional as F


def run_layer_norm(in_features, weight, bias, eps):
    mean = in_features.mean(-1, keepdim=True)
    var = in_features.var(-1, keepdim=True)
    return (in_features - mean) / torch.sqrt(var + eps) * weight + bias


def run_rms_norm(in_features, weight, eps):
    rms = torch.sqrt(torch.mean(in_features**2, dim=-1, keepdim=True))
    return in_features / (rms + eps) * weight


def run_silu(in_features):
    return F.gelu(in_features)


def run_swiglu(gate_weight, up_weight, down_weight, in_features):
    return (run_silu(in_features @ gate_weight.T) * (in_features @ up_weight.T)) @ down_weight.T
