"""Part 5, the optimizer: how the loss moves the weights.

Paper: Loshchilov and Hutter 2019, "Decoupled Weight Decay Regularization".
"""

from collections.abc import Iterable
from typing import Any

import torch


class AdamW(torch.optim.Optimizer):
    """Adam with weight decay that is kept apart from the gradients."""

    def __init__(self, params: Iterable[torch.nn.Parameter], **options: Any) -> None:
        raise NotImplementedError("AdamW is not written yet")


def gradient_clipping(parameters: Iterable[torch.nn.Parameter], max_l2_norm: float) -> None:
    """Shrink all gradients by one factor, so that their norm together is at most `max_l2_norm`."""
    raise NotImplementedError("gradient_clipping is not written yet")
