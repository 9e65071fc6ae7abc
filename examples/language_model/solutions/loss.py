"""The model answer on the loss."""

from torch import Tensor

from .parts import Parts


def cross_entropy(parts: Parts, inputs: Tensor, targets: Tensor) -> Tensor:
    """Averages the negative logarithms of the probabilities of the targets."""
    return parts.average(parts.step("surprises", parts.surprise(inputs, targets)), inputs)
