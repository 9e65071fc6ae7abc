"""Part 7, the data: windows into a text that is one long row of token ids."""

import numpy
import torch
from torch import Tensor


def get_batch(
    dataset: numpy.ndarray, batch_size: int, context_length: int, device: str
) -> tuple[Tensor, Tensor]:
    """Draw windows that begin anywhere in the text, and the same windows one token later.

    Where each window begins is drawn by itself, uniformly from all places that leave a token for
    every target: in a text of n tokens these are 0, 1, ..., n - context_length - 1.

    Shapes: `dataset` (n,) -> two tensors (batch_size, context_length) of int64 on `device`.

    >>> import numpy
    >>> get_batch(numpy.array([7, 3, 9]), batch_size=1, context_length=2, device="cpu")
    (tensor([[7, 3]]), tensor([[3, 9]]))

    A text may be larger than the memory, and lie in a file: take of it what you need, and no more.

    Ask yourself:
    * Does your random function ever return its upper bound?
    """
    raise NotImplementedError("get_batch is not written yet")
