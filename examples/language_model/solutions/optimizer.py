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
        """Moves every parameter that has a gradient."""
        loss = None if closure is None else closure()
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self.move(parameter, self.state_of(parameter), group)
        return loss

    def state_of(self, parameter: Tensor) -> dict[str, Any]:
        """Returns the memory of a parameter: its number of steps and two running means."""
        state = self.state[parameter]
        if not state:
            state["t"] = 0
            state["m"] = torch.zeros_like(parameter)
            state["v"] = torch.zeros_like(parameter)
        return state

    def move(self, parameter: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        """Takes one step with one parameter."""
        gradient = self.gradient(parameter, group)
        state["t"] += 1
        self.remember(state, gradient, *self.betas(group))
        self.decay(parameter, group)
        mean, mean_square = self.unbiased(state, *self.betas(group))
        parameter -= self.rate(group) * mean / self.divisor(mean_square, group["eps"])

    def gradient(self, parameter: Tensor, group: dict[str, Any]) -> Tensor:
        """Returns the gradient of which the running means are taken."""
        return parameter.grad

    def betas(self, group: dict[str, Any]) -> tuple[float, float]:
        """Returns the shares of the past that the two means keep."""
        return group["betas"]

    def rate(self, group: dict[str, Any]) -> float:
        """Returns the learning rate."""
        return group["lr"]

    def remember(self, state: dict[str, Any], gradient: Tensor, beta1: float, beta2: float) -> None:
        """Updates the running means."""
        state["m"] = beta1 * state["m"] + (1 - beta1) * gradient
        state["v"] = beta2 * state["v"] + (1 - beta2) * gradient.square()

    def decay(self, parameter: Tensor, group: dict[str, Any]) -> None:
        """Draws the parameter towards 0, whatever its gradient is."""
        parameter -= self.rate(group) * group["weight_decay"] * parameter

    def unbiased(self, state: dict[str, Any], beta1: float, beta2: float) -> tuple[Tensor, Tensor]:
        """Returns the means without the bias from their initial zeros."""
        t = state["t"]
        return state["m"] / (1 - beta1**t), state["v"] / (1 - beta2**t)

    def divisor(self, mean_square: Tensor, eps: float) -> Tensor:
        """Returns the divisor of the mean."""
        return mean_square.sqrt() + eps


def gradient_clipping(parameters: Iterable[torch.nn.Parameter], max_l2_norm: float) -> None:
    """Shrinks all gradients by one factor, so that their joint norm is at most `max_l2_norm`."""
    gradients = [one.grad for one in parameters if one.grad is not None]
    norm = torch.sqrt(sum((one.square().sum() for one in gradients), torch.tensor(0.0)))
    if norm > max_l2_norm:
        for gradient in gradients:
            gradient.mul_(max_l2_norm / (norm + 1e-6))
