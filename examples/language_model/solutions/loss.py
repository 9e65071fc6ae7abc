"""The model answer on the loss."""

from torch import Tensor

from .parts import Parts


def cross_entropy(parts: Parts, inputs: Tensor, targets: Tensor) -> Tensor:
    """Average the negative logarithms of the probabilities that the targets were given."""
    return parts.average(parts.step("surprises", parts.surprise(inputs, targets)), inputs)
