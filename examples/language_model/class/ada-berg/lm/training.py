"""The optimizer, its schedule, batches and checkpoints."""

import math

import numpy as np
import torch


class AdamW(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
        if lr < 0:
            raise ValueError(f"Invalid learning rate: {lr}")
        defaults = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        super().__init__(params, defaults)

    def step(self, closure=None):
        loss = closure() if closure is not None else None
        for group in self.param_groups:
            lr, (beta1, beta2) = group["lr"], group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                grad = p.grad.data
                state = self.state[p]
                t = state.get("t", 1)
                m = state.get("m", torch.zeros_like(p.data))
                v = state.get("v", torch.zeros_like(p.data))
                m = beta1 * m + (1 - beta1) * grad
                v = beta2 * v + (1 - beta2) * grad**2
                lr_t = lr * math.sqrt(1 - beta2**t) / (1 - beta1**t)
                eps_t = group["eps"] * math.sqrt(1 - beta2**t)
                p.data -= lr * group["weight_decay"] * p.data
                p.data -= lr_t * m / (torch.sqrt(v) + eps_t)
                state["t"], state["m"], state["v"] = t + 1, m, v
        return loss


def clip_gradients(parameters, max_norm, eps=1e-6):
    with_gradient = [p for p in parameters if p.grad is not None]
    total = math.sqrt(sum(float(p.grad.data.pow(2).sum()) for p in with_gradient))
    if total > max_norm:
        for p in with_gradient:
            p.grad.data *= max_norm / (total + eps)


def cosine_schedule(it, max_lr, min_lr, warmup, cycle):
    if it < warmup:
        return max_lr * it / warmup
    if it > cycle:
        return min_lr
    progress = (it - warmup) / (cycle - warmup)
    return min_lr + 0.5 * (1 + math.cos(progress * math.pi)) * (max_lr - min_lr)


def get_batch(dataset, batch_size, context_length, device):
    starts = np.random.randint(0, len(dataset) - context_length, size=batch_size)
    x = np.stack([dataset[i : i + context_length] for i in starts]).astype(np.int64)
    y = np.stack([dataset[i + 1 : i + 1 + context_length] for i in starts]).astype(np.int64)
    return torch.from_numpy(x).to(device), torch.from_numpy(y).to(device)


def save_checkpoint(model, optimizer, iteration, out):
    torch.save(
        {
            "model": model.state_dict(),
            "optimizer": optimizer.state_dict(),
            "iteration": iteration,
        },
        out,
    )


def load_checkpoint(src, model, optimizer):
    checkpoint = torch.load(src)
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    return checkpoint["iteration"]
