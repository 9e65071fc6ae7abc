"""Values: what of Python and torch crosses the border.

Numbers, texts, bytes, None, tensors, numpy's arrays, dtypes and devices; and lists, tuples, dicts,
sets and named tuples of them. Of anything else only a description crosses.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy
import torch

_LONGEST_WORDS = 60
_SHOWN = 4


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A tensor without data on this machine's CPU: what is known of it."""

    dtype: str
    shape: tuple[int, ...]
    device: str


@dataclass(frozen=True, slots=True)
class Foreign:
    """Something that cannot cross: only its description does."""

    description: str


@dataclass(frozen=True, slots=True)
class Named:
    """A named tuple: the name of its class, and its values by field."""

    name: str
    fields: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Local:
    """What an earlier step of a script gave (`scripts.py`), which stays where it is.

    `kind` says what that is, in a word or two; it does not cross.
    """

    number: int
    kind: str = ""


Plain: TypeAlias = bool | int | float | str | bytes | None
Single: TypeAlias = "Plain | torch.Tensor | numpy.ndarray[Any, Any] | torch.dtype | torch.device"
Several: TypeAlias = (
    "list[Value] | tuple[Value, ...] | dict[Any, Value] | set[Any] | frozenset[Any] | Named"
)
Value: TypeAlias = "Single | Several | Foreign | Elsewhere | Local"


def tensor_in_words(dtype: torch.dtype | str, shape: tuple[int, ...]) -> str:
    """The dtype and shape of a tensor: `float32[2, 5, 8]`."""
    return f"{str(dtype).removeprefix('torch.')}{list(shape)}"


def in_words(value: Value) -> str:
    """A value in a few words: tensors by dtype and shape, of many values the first."""
    if isinstance(value, Foreign):
        return value.description
    if isinstance(value, Local):
        return value.kind or "…"
    if isinstance(value, torch.Tensor | Elsewhere):
        return tensor_in_words(value.dtype, tuple(value.shape))
    if isinstance(value, numpy.ndarray):
        return f"numpy {tensor_in_words(str(value.dtype), value.shape)}"
    if isinstance(value, Named):
        return f"{value.name}({_some(f'{k}={in_words(v)}' for k, v in value.fields.items())})"
    if isinstance(value, dict):
        return f"{{{_some(f'{in_words(k)}: {in_words(v)}' for k, v in value.items())}}}"
    if isinstance(value, list):
        return f"[{_some(map(in_words, value))}]"
    if isinstance(value, tuple):
        return f"({_some(map(in_words, value))}{',' * (len(value) == 1)})"
    if isinstance(value, set | frozenset):
        return f"{{{_some(map(in_words, value))}}}" if value else "set()"
    if isinstance(value, str | bytes):
        # Cut off before it is put into words: a text of megabytes takes many times its size.
        value = value[: _LONGEST_WORDS + 1]
    words = repr(value)
    return words if len(words) <= _LONGEST_WORDS else f"{words[:_LONGEST_WORDS]}…"


def mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """The value with every part that is no collection changed; collections are made anew."""
    if isinstance(value, dict):
        return {key: mapped(own, change) for key, own in value.items()}
    if isinstance(value, Named):
        return Named(value.name, mapped(value.fields, change))
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(mapped(own, change) for own in value))
    if isinstance(value, list | tuple):
        return type(value)(mapped(own, change) for own in value)
    return change(value)


def _some(words: Iterable[str]) -> str:
    first = list(itertools.islice(words, _SHOWN + 1))
    return ", ".join([*first[:_SHOWN], "…"] if len(first) > _SHOWN else first)
