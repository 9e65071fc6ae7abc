"""Part 5, the optimizer: how the gradients of a loss move the weights.

Paper: Loshchilov and Hutter 2019, "Decoupled Weight Decay Regularization".
"""

from collections.abc import Iterable
from typing import Any

import torch


class AdamW(torch.optim.Optimizer):
    """Adam with a weight decay that is kept apart from the gradients.

    In step t = 1, 2, ... every parameter w with the gradient g goes

        m = beta1 m + (1 - beta1) g
        v = beta2 v + (1 - beta2) g^2
        w = w - lr * weight_decay * w
        w = w - lr * (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + eps)

    where m and v, its own two running means, begin with 0. A parameter whose `grad` is None stays
    as it is. Whether the decay comes before the rest or behind it, and whether eps is added before
    or after the correction of v, is left open.

    `torch.optim.Optimizer` does a part of it: hand it the parameters and a dict of the settings. It
    keeps them in `self.param_groups`, a list of dicts with the key "params" and one for each
    setting. A schedule writes the rate of the next step under "lr". It also gives `self.state[w]`,
    a dict of your own for each parameter, which is saved with the optimizer.

    Ask yourself:
    * In the first step, how large is the step, whatever the gradient is?
    * What happens to a weight whose gradient is 0 in every step?
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.01,
    ) -> None:
        raise NotImplementedError("AdamW is not written yet")

    def step(self, closure: Any = None) -> Any:
        """Move all parameters that have a gradient by one step."""
        raise NotImplementedError("AdamW.step is not written yet")


def gradient_clipping(parameters: Iterable[torch.nn.Parameter], max_l2_norm: float) -> None:
    """Shrink all gradients by one factor, so that their norm together is at most `max_l2_norm`.

        norm = sqrt(sum of the squares of all numbers in all gradients)
        g = g * max_l2_norm / (norm + 1e-6)   for every gradient g, where norm > max_l2_norm

    The gradients themselves are changed: nothing is returned. Some parameters may have none.

    >>> import torch
    >>> a, b = torch.nn.Parameter(torch.zeros(1)), torch.nn.Parameter(torch.zeros(1))
    >>> a.grad, b.grad = torch.tensor([3.0]), torch.tensor([4.0])
    >>> gradient_clipping([a, b], 2.5)
    >>> a.grad, b.grad
    (tensor([1.5000]), tensor([2.0000]))

    Ask yourself:
    * Which way does the whole step point before, and which way afterwards?
    """
    raise NotImplementedError("gradient_clipping is not written yet")
