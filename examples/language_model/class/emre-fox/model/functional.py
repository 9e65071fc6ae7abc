"""The model, as I understood it."""

from math import sqrt

import torch
import torch.nn.functional as F


def rms_norm(x, gain, eps=1e-5):
    return x / (x.pow(2).mean(-1, keepdim=True).sqrt() + eps) * gain


def swiglu(x, w1, w2, w3):
    return F.linear(F.linear(x, w1) * F.silu(F.linear(x, w3)), w2)


def attention(q, k, v, mask=None):
    scores = torch.matmul(q, k.mT) / sqrt(q.size(-1))
    if mask is not None:
        scores = torch.where(mask, scores, -torch.inf)
    return torch.matmul(torch.softmax(scores, -1), v)


def rotate(x, theta, positions):
    d_k = x.size(-1)
    inverse = 1.0 / theta ** (torch.arange(0, d_k, 2, device=x.device) / d_k)
    angles = positions[..., None] * inverse
    angles = torch.cat((angles, angles), dim=-1)
    turned = torch.cat((-x[..., d_k // 2 :], x[..., : d_k // 2]), dim=-1)
    return x * angles.cos() + turned * angles.sin()


def multihead(x, num_heads, wq, wk, wv, wo, theta=None, positions=None):
    def heads(weight):
        return F.linear(x, weight).unflatten(-1, (num_heads, -1)).transpose(-2, -3)

    q, k, v = heads(wq), heads(wk), heads(wv)
    seq = x.size(-2)
    if theta is not None:
        if positions is None:
            positions = torch.arange(seq, device=x.device)
        positions = positions.unsqueeze(-2)
        q, k = rotate(q, theta, positions), rotate(k, theta, positions)
    causal = torch.ones(seq, seq, device=x.device, dtype=torch.bool).tril()
    return F.linear(attention(q, k, v, causal).transpose(-2, -3).flatten(-2), wo)


def block(x, weights, num_heads, theta):
    projections = [weights[f"attn.{name}.weight"] for name in ("q_proj", "k_proj", "v_proj")]
    output = weights["attn.output_proj.weight"]
    x = rms_norm(x + multihead(x, num_heads, *projections, output, theta), weights["ln1.weight"])
    feed = [weights[f"ffn.w{number}.weight"] for number in (1, 2, 3)]
    return rms_norm(x + swiglu(x, *feed), weights["ln2.weight"])


def language_model(ids, weights, num_layers, num_heads, theta):
    x = F.embedding(ids, weights["token_embeddings.weight"])
    for number in range(num_layers):
        start = f"layers.{number}."
        own = {name[len(start) :]: w for name, w in weights.items() if name.startswith(start)}
        x = block(x, own, num_heads, theta)
    return F.linear(rms_norm(x, weights["ln_final.weight"]), weights["lm_head.weight"])


def cross_entropy(logits, targets):
    probabilities = torch.softmax(logits, dim=-1)
    return F.cross_entropy(probabilities, targets)
