"""Part 8, checkpoints: a training that is stopped can go on."""

import os
from typing import IO, BinaryIO

import torch


def save_checkpoint(
    model: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    iteration: int,
    out: str | os.PathLike[str] | BinaryIO | IO[bytes],
) -> None:
    """Write the states of a model and an optimizer, and the iteration, into one file."""
    raise NotImplementedError("save_checkpoint is not written yet")


def load_checkpoint(
    src: str | os.PathLike[str] | BinaryIO | IO[bytes],
    model: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
) -> int:
    """Give a model and an optimizer the states that were saved; return the iteration."""
    raise NotImplementedError("load_checkpoint is not written yet")
