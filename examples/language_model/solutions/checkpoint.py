"""The model answers on checkpoints."""

import os
from typing import IO, BinaryIO

import torch

File = str | os.PathLike[str] | BinaryIO | IO[bytes]


def save_checkpoint(
    model: torch.nn.Module, optimizer: torch.optim.Optimizer, iteration: int, out: File
) -> None:
    """Writes the two states and the iteration."""
    states = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
    torch.save(states | {"iteration": iteration}, out)


def load_checkpoint(src: File, model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> int:
    """Restores the two states; returns the iteration."""
    saved = torch.load(src)
    model.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    return saved["iteration"]
