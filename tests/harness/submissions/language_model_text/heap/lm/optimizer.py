from __future__ import annotations

import math

import torch


class AdamW(torch.optim.Optimizer):
    """As torch's own: the decay first, then the corrected moments."""

    def __init__(self, params, lr=1e-3, weight_decay=0.01, betas=(0.9, 0.999), eps=1e-8):
        super().__init__(params, dict(lr=lr, weight_decay=weight_decay, betas=betas, eps=eps))
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p] = {
                    "step": 0,
                    "exp_avg": torch.zeros_like(p),
                    "exp_avg_sq": torch.zeros_like(p),
                }

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                s = self.state[p]
                s["step"] += 1
                p.mul_(1 - group["lr"] * group["weight_decay"])
                s["exp_avg"].lerp_(p.grad, 1 - beta1)
                s["exp_avg_sq"].mul_(beta2).addcmul_(p.grad, p.grad, value=1 - beta2)
                bias1 = 1 - beta1 ** s["step"]
                bias2 = 1 - beta2 ** s["step"]
                denominator = (s["exp_avg_sq"].sqrt() / math.sqrt(bias2)).add_(group["eps"])
                p.addcdiv_(s["exp_avg"], denominator, value=-group["lr"] / bias1)


@torch.no_grad()
def gradient_clipping(parameters, max_l2_norm):
    grads = [p.grad for p in parameters if p.grad is not None]
    if not grads:
        return
    norm = torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(g) for g in grads]))
    factor = torch.clamp(max_l2_norm / (norm + 1e-6), max=1.0)
    for g in grads:
        g.mul_(factor)


def cosine(it, max_learning_rate, min_learning_rate, warmup_iters, cosine_cycle_iters):
    match it:
        case _ if it < warmup_iters:
            return max_learning_rate * (it / warmup_iters)
        case _ if it > cosine_cycle_iters:
            return min_learning_rate
    phase = math.pi * (it - warmup_iters) / (cosine_cycle_iters - warmup_iters)
    return min_learning_rate + (max_learning_rate - min_learning_rate) * math.cos(phase / 2) ** 2
