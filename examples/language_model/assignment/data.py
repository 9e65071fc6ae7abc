"""Part 7, the data: windows into a text that is one long row of token ids."""

import numpy
from torch import Tensor


def get_batch(
    dataset: numpy.ndarray, batch_size: int, context_length: int, device: str
) -> tuple[Tensor, Tensor]:
    """Draw windows that begin anywhere in the text, and the same windows one token later."""
    raise NotImplementedError("get_batch is not written yet")
