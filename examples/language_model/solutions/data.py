"""The model answer on batches."""

import numpy
import torch
from torch import Tensor


def get_batch(
    dataset: numpy.ndarray, batch_size: int, context_length: int, device: str
) -> tuple[Tensor, Tensor]:
    """Draws each window's start from all places where a token follows the window."""
    starts = torch.randint(0, len(dataset) - context_length, (batch_size, 1))
    places = starts + torch.arange(context_length)
    tokens = torch.from_numpy(dataset.astype("int64"))
    return tokens[places].to(device), tokens[places + 1].to(device)
