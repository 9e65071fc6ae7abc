import torch


def run_layer_norm(in_features, weight, bias, eps):
    mu = in_features.mean(-1, keepdim=True)
    sigma2 = ((in_features - mu) ** 2).mean(-1, keepdim=True)
    return (in_features - mu) / torch.sqrt(sigma2 + eps) * weight + bias


def run_rms_norm(in_features, weight, eps):
    raise NotImplementedError


def run_silu(in_features):
    raise NotImplementedError("next week")
