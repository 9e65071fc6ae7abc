"""Functions and modules that `torch.compile` was asked to compile run as they are.

A worker may start no compiler, and needs none: the numbers are the same, and what is looked at
while they are made (operations, lines, gradients) is there to be seen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


def do_without_compiling() -> None:
    """Has `torch.compile`, and a module's `compile`, hand back what they are given."""
    torch.compile = _as_it_is


def _as_it_is(model: Callable[..., Any] | None = None, **_options: Any) -> Any:
    """Stands for `torch.compile`, which is called, or a decorator with options or without."""
    return (lambda own: own) if model is None else model
