import torch


def layer_norm(in_features, weight, bias, eps):
    mean = torch.mean(in_features, dim=-1, keepdim=True)
    var = torch.var(in_features, dim=-1, keepdim=True, unbiased=False)
    return weight * (in_features - mean) * torch.rsqrt(var + eps) + bias


def rms_norm(in_features, weight, eps):
    return weight * in_features * torch.rsqrt(in_features.pow(2).mean(-1, keepdim=True) + eps)
