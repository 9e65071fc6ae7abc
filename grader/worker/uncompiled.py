"""Torch without its compiler, which a worker may not start, and whose import takes a second.

Functions and modules that are given to `torch.compile` run uncompiled: the values are the same, and
observers see operations, lines and gradients. A module is its own `_orig_mod`.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

import torch

_INNER = "_orig_mod"


def load_no_compiler() -> None:
    """Makes torch call the functions that it excludes from compilation without `torch._dynamo`.

    The first call of one would load that module, which takes a second. Optimizer steps and most
    operations on the meta device are such calls (`torch/_compile.py`).
    """
    # Where another torch works differently, the module is loaded, and nothing else changes.
    with contextlib.suppress(ImportError, KeyError):
        from torch._compile import _disable_dynamo

        code = _disable_dynamo(lambda: None).__code__
        for one in gc.get_objects():
            if type(one) is FunctionType and one.__code__ is code:
                function = inspect.getclosurevars(one).nonlocals["fn"]
                function.__dynamo_disable = function


def use_native_meta_kernels() -> None:
    """Makes torch's native kernels of the meta device run wherever there are any.

    Torch replaces most of them by kernels in Python, for its compiler. Those make the same shapes
    and dtypes, and take seven times as long.
    """
    # Where another torch works differently, its own kernels stay.
    with contextlib.suppress(ImportError, AttributeError, KeyError):
        registrations: Any = importlib.import_module("torch._meta_registrations")
        replacing = registrations._meta_lib_dont_use_me_use_register_meta
        operations = [_operation(key.split("/")[1]) for key in replacing._op_impls]
        kernels = [(one, one.py_kernels[torch._C.DispatchKey.Meta]) for one in operations]
        library: Any = torch.library.Library("aten", "IMPL", "Meta")  # type: ignore[no-untyped-call]
        replacing._destroy()
        registrations._meta_lib_dont_use_me_use_register_meta = library  # keeps it alive
        for operation, kernel in kernels:
            if not torch._C._dispatch_has_kernel_for_dispatch_key(operation.name(), "Meta"):
                # An operation without a kernel passes the tests of devices untried.
                with contextlib.suppress(RuntimeError):
                    library.impl(operation, kernel)


def _operation(name: str) -> Any:
    """Returns an operation of torch by its name: `add.Tensor`, `relu`."""
    packet, _, overload = name.partition(".")
    return getattr(getattr(torch.ops.aten, packet), overload or "default")


def do_without_compiling() -> None:
    """Makes `torch.compile`, and a module's `compile`, leave everything uncompiled."""
    torch.compile = _as_it_is


def _as_it_is(model: Callable[..., Any] | None = None, **_options: Any) -> Any:
    """Replaces `torch.compile`, as a call, or as a decorator with or without options."""
    if model is None:
        return _as_it_is
    if isinstance(model, torch.nn.Module):
        # Beside torch's tables of modules: a module in itself would be found again and again.
        object.__setattr__(model, _INNER, model)
    return model
