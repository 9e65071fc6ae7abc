"""Part 4, the loss: how surprised a model is by the tokens that really came."""

import torch
from torch import Tensor


def cross_entropy(inputs: Tensor, targets: Tensor) -> Tensor:
    """Average the negative logarithms of the probabilities that the targets were given.

        loss = mean over i of -log softmax(o_i)[x_i]

    Shapes: `inputs` (batch_size, vocab_size), which are the o, `targets` (batch_size,), which are
    the x -> one number, a tensor without axes.

    >>> import math, torch
    >>> cross_entropy(torch.tensor([[0.0, math.log(3.0)], [0.0, 0.0]]), torch.tensor([1, 0]))
    tensor(0.4904)

    The probabilities are 3 / 4 and 1 / 2; the mean of -log(3/4) = 0.2877 and -log(1/2) = 0.6931.

    Ask yourself:
    * What is the logarithm of a probability that float32 rounds to 0?
    * Which logarithm and which exponential undo each other, so that you need neither?
    """
    raise NotImplementedError("cross_entropy is not written yet")
