import torch


def run_layer_norm(in_features, weight, bias, eps):
    mean = in_features.mean(-1)
    var = in_features.var(-1, unbiased=False)
    return (in_features - mean) / torch.sqrt(var + eps) * weight + bias


def run_rms_norm(in_features, weight, eps):
    return weight * in_features / torch.sqrt(in_features.pow(2).mean(-1, keepdim=True) + eps)


def run_silu(in_features):
    return in_features * torch.sigmoid(in_feature)


def run_swiglu(gate_weight, up_weight, down_weight, in_features):
    gate = in_features @ gate_weight.T
    gate = gate * torch.sigmoid(gate)
    return torch.matmul(gate @ (in_features @ up_weight.T), down_weight.T)
