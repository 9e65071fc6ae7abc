"""The model answers on the optimizer: AdamW, and the clipping of gradients before its step."""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor


class AdamW(torch.optim.Optimizer):
    """Adam with decoupled weight decay; a known mistake is one of its methods replaced."""

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.01,
    ) -> None:
        settings = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        super().__init__(params, settings)

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        """Move every parameter that has a gradient."""
        loss = None if closure is None else closure()
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self.move(parameter, self.state_of(parameter), group)
        return loss

    def state_of(self, parameter: Tensor) -> dict[str, Any]:
        """What is remembered of a parameter: its steps so far and two running means."""
        state = self.state[parameter]
        if not state:
            state["t"] = 0
            state["m"] = torch.zeros_like(parameter)
            state["v"] = torch.zeros_like(parameter)
        return state

    def move(self, parameter: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        """Take one step with one parameter."""
        gradient = self.gradient(parameter, group)
        state["t"] += 1
        self.remember(state, gradient, *self.betas(group))
        self.decay(parameter, group)
        mean, mean_square = self.unbiased(state, *self.betas(group))
        parameter -= self.rate(group) * mean / self.divisor(mean_square, group["eps"])

    def gradient(self, parameter: Tensor, group: dict[str, Any]) -> Tensor:
        """What the running means are taken of."""
        return parameter.grad

    def betas(self, group: dict[str, Any]) -> tuple[float, float]:
        """How much of the past the two means keep."""
        return group["betas"]

    def rate(self, group: dict[str, Any]) -> float:
        """The learning rate."""
        return group["lr"]

    def remember(self, state: dict[str, Any], gradient: Tensor, beta1: float, beta2: float) -> None:
        """Bring the running means up to date."""
        state["m"] = beta1 * state["m"] + (1 - beta1) * gradient
        state["v"] = beta2 * state["v"] + (1 - beta2) * gradient.square()

    def decay(self, parameter: Tensor, group: dict[str, Any]) -> None:
        """Draw the parameter towards 0, whatever its gradient is."""
        parameter -= self.rate(group) * group["weight_decay"] * parameter

    def unbiased(self, state: dict[str, Any], beta1: float, beta2: float) -> tuple[Tensor, Tensor]:
        """The means without the zeros that they began with."""
        t = state["t"]
        return state["m"] / (1 - beta1**t), state["v"] / (1 - beta2**t)

    def divisor(self, mean_square: Tensor, eps: float) -> Tensor:
        """What the mean is divided by."""
        return mean_square.sqrt() + eps


def gradient_clipping(parameters: Iterable[torch.nn.Parameter], max_l2_norm: float) -> None:
    """Shrink all gradients by one factor, so that their norm together is at most `max_l2_norm`."""
    gradients = [one.grad for one in parameters if one.grad is not None]
    norm = torch.sqrt(sum((one.square().sum() for one in gradients), torch.tensor(0.0)))
    if norm > max_l2_norm:
        for gradient in gradients:
            gradient.mul_(max_l2_norm / (norm + 1e-6))
