"""What moves the weights, and what they are moved by."""

import math
from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor


class AdamW(torch.optim.Optimizer):
    def __init__(
        self,
        params,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
    ):
        defaults = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        super().__init__(params, defaults)

    def step(self, closure: Callable | None = None):
        for group in self.param_groups:
            for theta in group["params"]:
                if theta.grad is not None:
                    self._update(theta, theta.grad.detach(), group)

    def _update(self, theta: Tensor, g: Tensor, group: dict) -> None:
        b1, b2 = group["betas"]
        state = self.state[theta]
        m, v, t = state.get("m", 0.0), state.get("v", 0.0), state.get("t", 0) + 1
        m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
        m_hat, v_hat = m / (1 - b1**t), v / (1 - b2**t)
        delta = m_hat / (v_hat.sqrt() + group["eps"]) + group["weight_decay"] * theta.data
        theta.data = theta.data - group["lr"] * delta
        state.update(m=m, v=v, t=t)


def clip(parameters: Iterable[torch.nn.Parameter], max_norm: float) -> None:
    parameters = list(parameters)
    norm = sum(p.grad.square().sum() for p in parameters if p.grad is not None) ** 0.5
    if norm <= max_norm:
        return
    for p in parameters:
        if p.grad is not None:
            p.grad = p.grad * (max_norm / (norm + 1e-6))


def schedule(t: int, a_max: float, a_min: float, t_w: int, t_c: int) -> float:
    if t < t_w:
        return t / t_w * a_max
    if t <= t_c:
        return a_min + (1 + math.cos((t - t_w) / (t_c - t_w) * math.pi)) * (a_max - a_min) / 2
    return a_min


def batch(data: npt.NDArray, size: int, length: int, device: str) -> tuple[Tensor, Tensor]:
    starts = np.random.default_rng(np.random.randint(2**31)).integers(0, len(data) - length, size)
    places = starts[:, None] + np.arange(length + 1)
    tokens = torch.tensor(np.asarray(data)[places].astype(np.int64), device=device)
    return tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()


def save(model, optimizer, iteration, out):
    state = {"model_state": model.state_dict(), "optimizer_state": optimizer.state_dict()}
    torch.save({**state, "iter": iteration}, out)


def load(src, model, optimizer):
    state = torch.load(src, weights_only=True)
    model.load_state_dict(state["model_state"])
    optimizer.load_state_dict(state["optimizer_state"])
    return state["iter"]
