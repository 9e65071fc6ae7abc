import math

import torch


class AdamW(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2):
        if lr < 0:
            raise ValueError(f"Invalid learning rate: {lr}")
        defaults = dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay)
        super().__init__(params, defaults)

    def step(self, closure=None):
        loss = None if closure is None else closure()
        for group in self.param_groups:
            lr = group["lr"]
            b1, b2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                t = state.get("t", 1)
                m = state.get("m", torch.zeros_like(p.data))
                v = state.get("v", torch.zeros_like(p.data))
                g = p.grad.data
                m = b1 * m + (1 - b1) * g
                v = b2 * v + (1 - b2) * g**2
                lr_t = lr * math.sqrt(1 - b2**t) / (1 - b1**t)
                p.data -= lr_t * m / (torch.sqrt(v) + group["eps"])
                p.data -= lr * group["weight_decay"] * p.data
                state["t"] = t + 1
                state["m"] = m
                state["v"] = v
        return loss


def clip(parameters, max_norm, eps=1e-6):
    params = [p for p in parameters if p.grad is not None]
    total = 0.0
    for p in params:
        total += (p.grad.data**2).sum().item()
    norm = math.sqrt(total)
    if norm > max_norm:
        for p in params:
            p.grad.data = p.grad.data * (max_norm / (norm + eps))


def lr_at(it, max_lr, min_lr, warmup, cycle):
    if it < warmup:
        return max_lr * it / warmup
    elif it <= cycle:
        cos = math.cos(math.pi * (it - warmup) / (cycle - warmup))
        return min_lr + 0.5 * (1 + cos) * (max_lr - min_lr)
    else:
        return min_lr
