"""Says in a few words what a value is: `float32[2, 5, 8]`, a tuple of 2, a module."""

from __future__ import annotations

from collections.abc import Iterator
from types import BuiltinFunctionType, FunctionType, MethodType

import torch

from grader.core.wire.values import Foreign, tensor_in_words

_SHOWN = 4
_LONGEST_NAME = 40


def in_words(value: object) -> str | None:
    """A tensor with its shape, a number or text as it is; None for what says nothing in words."""
    if isinstance(value, torch.Tensor):
        with torch._C.DisableTorchFunctionSubclass():
            device = "" if value.device.type == "cpu" else f" on {value.device.type}"
            return tensor_in_words(value.dtype, tuple(value.shape)) + device
    if value is None or type(value) in (bool, int, float, str):
        return repr(value)[:_LONGEST_NAME]
    if isinstance(value, tuple | list):
        return _sequence(value)
    if isinstance(value, torch.nn.Module):
        return _module(value)
    if is_numpy_array(value):
        return f"numpy array[{', '.join(map(str, value.shape))}]"  # type: ignore[attr-defined]
    return None


def not_called_in_words(value: object) -> str | None:
    """A function or class that stands where what it gives was meant, perhaps."""
    if isinstance(value, FunctionType | MethodType | BuiltinFunctionType):
        return f"the function {value.__name__[:_LONGEST_NAME]}"
    return f"the class {value.__name__[:_LONGEST_NAME]}" if isinstance(value, type) else None


def is_numpy_array(value: object) -> bool:
    """Whether it is one; numpy need not be installed."""
    return type(value).__module__ == "numpy" and type(value).__name__ == "ndarray"


def foreign(value: object) -> Foreign:
    """What can be told of a result that cannot cross."""
    kind = type(value).__name__[:_LONGEST_NAME]
    if isinstance(value, Iterator):
        return Foreign(f"an iterator of type {kind}")
    if is_numpy_array(value):
        return Foreign(f"a {in_words(value)}")
    if isinstance(value, torch.nn.Module):
        return Foreign(f"a module of type {kind}")
    if type(value) in (FunctionType, MethodType, BuiltinFunctionType):
        return Foreign(f"a function ({value.__name__[:_LONGEST_NAME]})")  # type: ignore[attr-defined]
    if issubclass(type(value), type):
        return Foreign(f"a class ({value.__name__[:_LONGEST_NAME]})")  # type: ignore[attr-defined]
    if any("__call__" in vars(base) for base in type(value).__mro__):
        return Foreign(f"an object that can be called, of type {kind}")
    return Foreign(f"an object of type {kind}")


def _sequence(values: tuple[object, ...] | list[object]) -> str | None:
    words = [in_words(value) for value in values[:_SHOWN]]
    if None in words:
        return None
    more = ", …" if len(values) > _SHOWN else ""
    return f"[{', '.join(map(str, words))}{more}]"


def _module(module: torch.nn.Module) -> str:
    """Its class and its own parameters: `Linear(weight float32[8, 4])`."""
    own = vars(module).get("_parameters", {})
    words = [f"{name} {in_words(it)}" for name, it in list(own.items())[:_SHOWN] if it is not None]
    return f"{type(module).__name__}({', '.join(words)})"
