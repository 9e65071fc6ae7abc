"""Notices an operation of torch when it runs, by whatever name it was called."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable
from typing import Any

import torch

NAMESPACE = "aten::"
# Tensors of inference mode come by the second of a pair, all others by the first.
_KEYS = ("AutogradCPU", "CPU", "AutogradCUDA", "CUDA")
_COMPOSITE = "CompositeImplicitAutograd"


def watch_operation(name: str, seen: Callable[[], None]) -> object:
    """Calls `seen` whenever torch's dispatcher runs an operation, such as `aten::softmax`.

    The watch lasts as long as what is returned; None if this torch has no such operation, or does
    not hand out its kernels. See "Extending torch: torch.library" in torch's documentation.
    """
    name = name.removeprefix(NAMESPACE)
    operation: Any = getattr(getattr(torch.ops.aten, name, None), "default", None)
    if operation is None:
        return None
    library: Any = torch.library.Library("aten", "IMPL")  # type: ignore[no-untyped-call]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a kernel is replaced
        for key in _KEYS:
            # An operation need not have a kernel for each of them.
            with contextlib.suppress(RuntimeError, AttributeError):
                watched = _watched(_kernel(operation, key), seen)
                library.impl(name, watched, key, with_keyset=True)
    return library


def _kernel(operation: Any, key: str) -> Callable[..., Any]:
    """Returns the kernel of an operation for a dispatch key; it takes the set keys and arguments.

    Raises:
        RuntimeError: if it does nothing of its own there.
        AttributeError: if this torch does not tell.
    """
    if torch._C._dispatch_has_kernel_for_dispatch_key(operation.name(), _COMPOSITE):
        return lambda _keys, *args, **kwargs: operation.decompose(*args, **kwargs)
    kernel: Callable[..., Any] = torch.library.get_kernel(operation, key).call_boxed
    return kernel


def _watched(kernel: Callable[..., Any], seen: Callable[[], None]) -> Callable[..., Any]:
    def watched(keys: object, *args: Any, **kwargs: Any) -> Any:
        seen()
        return kernel(keys, *args, **kwargs)

    return watched
