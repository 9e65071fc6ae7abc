"""The kinds of values that cross the border, and the parts of a value.

Numbers, texts, bytes, None, tensors, numpy arrays, dtypes and devices cross, and lists, tuples,
dicts, sets and named tuples of them. Anything else crosses only as a description.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy
import torch


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """The description of a tensor whose data is not on this machine's CPU."""

    dtype: str
    shape: tuple[int, ...]
    device: str


@dataclass(frozen=True, slots=True)
class Foreign:
    """An object that cannot cross, by its description."""

    description: str


@dataclass(frozen=True, slots=True)
class Named:
    """A named tuple: the name of its class, and its values by field."""

    name: str
    fields: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Local:
    """The result of an earlier step of a script (`wire/scripts.py`), which stays in the worker.

    `kind` names the result in a word or two; it does not cross.
    """

    number: int
    kind: str = ""


Plain: TypeAlias = bool | int | float | str | bytes | None
Single: TypeAlias = "Plain | torch.Tensor | numpy.ndarray[Any, Any] | torch.dtype | torch.device"
Several: TypeAlias = (
    "list[Value] | tuple[Value, ...] | dict[Any, Value] | set[Any] | frozenset[Any] | Named"
)
Value: TypeAlias = "Single | Several | Foreign | Elsewhere | Local"


def mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """Returns a copy of the value with `change` applied to each part, as `parts` yields them."""
    if isinstance(value, dict):
        return {key: mapped(own, change) for key, own in value.items()}
    if isinstance(value, Named):
        return Named(value.name, mapped(value.fields, change))
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(mapped(own, change) for own in value))
    if isinstance(value, list | tuple):
        return type(value)(mapped(own, change) for own in value)
    return change(value)


def parts(value: Any) -> Iterator[Any]:
    """Yields what the lists, tuples and dicts of a value hold, in order, down to the single parts.

    A set is a single part. The keys of a dict are left out.
    """
    if isinstance(value, Named | Mapping):
        value = [*(value.fields if isinstance(value, Named) else value).values()]
    if isinstance(value, list | tuple):
        for own in value:
            yield from parts(own)
    else:
        yield value


def number_key(value: Value) -> tuple[bool, float]:
    """Returns the sorting key of a number; all other values have one key, which comes after."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return False, value
    return True, 0.0
