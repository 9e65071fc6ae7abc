"""Part 8, checkpoints: a training that is stopped can go on as if it had not been."""

import os
from typing import IO, BinaryIO

import torch


def save_checkpoint(
    model: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    iteration: int,
    out: str | os.PathLike[str] | BinaryIO | IO[bytes],
) -> None:
    """Write the states of a model and an optimizer, and the iteration, into one file.

    `out` is a path, or a binary file that is open for writing; `torch.save` takes both. In which
    form you write is left to you: only `load_checkpoint` reads it.

    Ask yourself:
    * What does the optimizer know after a thousand steps that it does not know in the beginning?
    """
    raise NotImplementedError("save_checkpoint is not written yet")


def load_checkpoint(
    src: str | os.PathLike[str] | BinaryIO | IO[bytes],
    model: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
) -> int:
    """Give a model and an optimizer the states that were saved; return the iteration.

    `src` is what `save_checkpoint` wrote: a path, or a binary file that is open for reading. The
    model and the optimizer are of the same kinds as those that were saved.

    Ask yourself:
    * If training goes on from here, is the next step the one that it would have been?
    """
    raise NotImplementedError("load_checkpoint is not written yet")
