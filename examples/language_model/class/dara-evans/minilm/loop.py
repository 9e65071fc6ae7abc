import math
import random

import torch


class AdamW(torch.optim.Optimizer):
    def __init__(self, params, lr=3e-4, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
        self.t = 0
        defaults = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        super().__init__(params, defaults)

    def zeros(self, p, name):
        return self.state[p].setdefault(name, torch.zeros_like(p, requires_grad=False))

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            lr, eps, decay = group["lr"], group["eps"], group["weight_decay"]
            b1, b2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                m, v = self.zeros(p, "m"), self.zeros(p, "v")
                t = self.state[p]["t"] = self.state[p].get("t", 0) + 1
                m.copy_(b1 * m + (1 - b1) * p.grad)
                v.copy_(b2 * v + (1 - b2) * p.grad.pow(2))
                p.sub_(decay * lr * p)
                p.sub_(lr * (m / (1 - b1**t)) / ((v / (1 - b2**t)).sqrt() + eps))


def clip(parameters, most):
    gradients = [p.grad for p in parameters if p.grad is not None]
    whole = torch.cat([g.reshape(-1) for g in gradients]).norm(2) if gradients else torch.zeros(())
    if whole > most:
        for g in gradients:
            g.copy_(g * most / (whole + 1e-6))


def schedule(step, high, low, warm, last):
    if step <= warm and warm > 0:
        return high * step / warm
    if step >= last:
        return low
    angle = math.pi * (step - warm) / (last - warm)
    return low + (high - low) * math.cos(angle / 2) ** 2


def batch(dataset, size, length, device):
    firsts = [random.randrange(len(dataset) - length) for _ in range(size)]
    rows = [torch.tensor(dataset[i : i + length + 1].tolist()) for i in firsts]
    rows = torch.stack(rows).to(device)
    return rows[:, :length], rows[:, 1:]


def save(model, optimizer, iteration, out):
    everything = {"weights": model.state_dict(), "moments": optimizer.state_dict()}
    everything["done"] = iteration
    torch.save(everything, out)


def load(src, model, optimizer):
    everything = torch.load(src, map_location="cpu", weights_only=False)
    model.load_state_dict(everything["weights"])
    optimizer.load_state_dict(everything["moments"])
    return everything["done"]
