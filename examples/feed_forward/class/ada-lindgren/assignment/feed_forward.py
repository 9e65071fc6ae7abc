import torch


def silu(in_features):
    return in_features * torch.sigmoid(in_features)


def swiglu(gate_weight, up_weight, down_weight, in_features):
    gate = silu(torch.nn.functional.linear(in_features, gate_weight))
    up = torch.nn.functional.linear(in_features, up_weight)
    return torch.nn.functional.linear(gate * up, down_weight)
