import math
from collections.abc import Callable, Iterable
from typing import Optional

import torch
import wandb


class AdamW(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-3, weight_decay=0.01, betas=(0.9, 0.999), eps=1e-8):
        defaults = {"lr": lr, "beta1": betas[0], "beta2": betas[1], "eps": eps, "wd": weight_decay}
        super().__init__(params, defaults)

    def step(self, closure: Optional[Callable] = None):
        loss = None if closure is None else closure()
        for group in self.param_groups:
            lr, beta1, beta2 = group["lr"], group["beta1"], group["beta2"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                grad = p.grad.data
                state = self.state[p]
                if len(state) == 0:
                    state["t"] = 0
                    state["m"] = torch.zeros_like(grad)
                    state["v"] = torch.zeros_like(grad)
                state["t"] += 1
                state["m"].mul_(beta1).add_((1 - beta1) * grad)
                state["v"].mul_(beta2).add_((1 - beta2) * grad * grad)
                alpha = lr * math.sqrt(1 - beta2 ** state["t"]) / (1 - beta1 ** state["t"])
                p.data.addcdiv_(state["m"], state["v"].sqrt() + group["eps"], value=-alpha)
                p.data.mul_(1 - lr * group["wd"])
        return loss


def clip(parameters: Iterable[torch.nn.Parameter], max_l2_norm: float):
    grads = [p.grad for p in parameters if p.grad is not None]
    norm = torch.cat([g.reshape(-1) for g in grads]).norm(2)
    if norm >= max_l2_norm:
        torch._foreach_mul_(grads, (max_l2_norm / (norm + 1e-6)).item())


def lr_at(t, lr_max, lr_min, t_w, t_c):
    if t < t_w:
        return t / t_w * lr_max
    if t_w <= t <= t_c:
        return lr_min + (1 + math.cos((t - t_w) / (t_c - t_w) * math.pi)) / 2 * (lr_max - lr_min)
    return lr_min


def train_loop():
    wandb.init(project="lm")
