"""Functions and modules that `torch.compile` was asked to compile run as they are.

A worker may start no compiler, and needs none: the numbers are the same, and what is looked at
while they are made (operations, lines, gradients) is there to be seen.
"""

from __future__ import annotations

import gc
import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

import torch
from torch._compile import _disable_dynamo

_INNER = "_orig_mod"


class Compiled(torch.nn.Module):
    """A module in the place of another one, as `torch.compile` returns it.

    It has the other one as `_orig_mod`, and so has each name in its state dict. In all else it is
    like the other one: what is read, called or set is the other one's.
    """

    _orig_mod: Any

    def __init__(self, module: torch.nn.Module) -> None:
        super().__init__()
        self._orig_mod = module

    @property
    def training(self) -> bool:
        """The mode of the other module."""
        return bool(self.__dict__["_modules"][_INNER].training)

    @training.setter
    def training(self, is_so: bool) -> None:
        # torch sets it before there are modules.
        for inner in self.__dict__.get("_modules", {}).values():
            inner.training = is_so

    def forward(self, *inputs: Any, **named: Any) -> Any:
        """Calls the other module."""
        return self._orig_mod(*inputs, **named)

    def __len__(self) -> int:
        return len(self._orig_mod)

    def __getattr__(self, name: str) -> Any:
        inner = self.__dict__.get("_modules", {}).get(_INNER)
        return inner if name == _INNER else getattr(inner, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == _INNER or hasattr(type(self), name):
            super().__setattr__(name, value)
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._orig_mod, name)


def load_no_compiler() -> None:
    """Has torch call as they are the functions that it keeps from being compiled.

    The first call of one loads `torch._dynamo`, which takes a second: steps of optimizers, and
    most operations on the meta device (`torch/_compile.py`).
    """
    code = _disable_dynamo(lambda: None).__code__
    for one in gc.get_objects():
        if type(one) is FunctionType and one.__code__ is code:
            function = inspect.getclosurevars(one).nonlocals["fn"]
            function.__dynamo_disable = function


def do_without_compiling() -> None:
    """Has `torch.compile`, and a module's `compile`, run what they are given as it is."""
    torch.compile = _as_it_is


def _as_it_is(model: Callable[..., Any] | None = None, **_options: Any) -> Any:
    """Stands for `torch.compile`, which is called, or a decorator with options or without."""
    if model is None:
        return _as_it_is
    return Compiled(model) if isinstance(model, torch.nn.Module) else model
