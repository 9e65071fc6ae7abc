# batch, seq, d
import torch


def run_layer_norm(in_features, weight, bias, eps):
    b, s, d = in_features.shape
    out = torch.empty(b, s, d)
    for i in range(b):
        for j in range(s):
            token = in_features[i, j]
            out[i, j] = (token - token.mean()) / (token.var(unbiased=False) + eps).sqrt()
    return out * weight + bias


def run_rms_norm(in_features, weight, eps):
    return in_features * weight / (in_features.square().mean(2, keepdim=True) + eps).sqrt()


def run_silu(in_features):
    e = torch.exp(in_features)
    return in_features * e / (1 + e)


def run_swiglu(gate_weight, up_weight, down_weight, in_features):
    gate = torch.einsum("bsd,fd->bsf", in_features, gate_weight)
    up = torch.einsum("bsd,fd->bsf", in_features, up_weight)
    return torch.einsum("bsf,df->bsd", gate * torch.sigmoid(gate) * up, down_weight)
