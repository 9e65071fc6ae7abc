import torch


def run_layer_norm(in_features, weight, bias, eps):
    x = in_features - in_features.mean(dim=-1, keepdim=True)
    x = x / torch.sqrt((x * x).mean(dim=-1, keepdim=True) + eps)
    return x * weight


def run_rms_norm(in_features, weight, eps):
    norm = torch.sqrt((in_features**2).sum(dim=-1, keepdim=True) + eps)
    return in_features / norm * weight


def run_silu(in_features):
    return in_features * in_features.sigmoid()


def run_swiglu(gate_weight, up_weight, down_weight, in_features):
    gate = in_features @ gate_weight.T
    up = run_silu(in_features @ up_weight.T)
    return (gate * up) @ down_weight.T
