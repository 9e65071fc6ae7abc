"""The values that cross the border, and any of them as one row of numbers.

Numbers, texts, bytes, None, tensors, numpy's arrays, dtypes and devices; and lists, tuples, dicts,
sets and named tuples of them. Of anything else only a description crosses.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
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
    """The result of an earlier step of a script (`scripts.py`), which stays in the worker.

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
    """Returns the dtype and shape of a tensor: `float32[2, 5, 8]`."""
    return f"{str(dtype).removeprefix('torch.')}{list(shape)}"


def in_words(value: Value) -> str:
    """Returns a value in a few words: tensors by dtype and shape, of many values the first."""
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
    """Returns the value with every part that is no collection changed.

    Collections are made anew.
    """
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


# What a value is made of stands before its numbers: rows of two kinds of values are never near.
_NOTHING, _TRUTH, _TEXT, _BYTES, _SEVERAL, _PAIRS, _NAMED, _TENSOR, _OTHER = (
    -1e9 - 1e6 * kind for kind in range(9)
)


def as_tensor(value: Value) -> torch.Tensor:
    """Returns a tensor or number as it is in torch; of anything else a row of float64.

    Rows are equal if the values are, and near each other if only their numbers differ, by little.
    The order of a dict or set makes no difference.
    """
    if isinstance(value, torch.Tensor):
        return value
    if isinstance(value, bool | int | float):
        return torch.tensor(value)
    if isinstance(value, numpy.ndarray):
        return torch.from_numpy(value.astype(numpy.float64))
    return torch.cat([*_rows(value), torch.zeros(0, dtype=torch.float64)])


def _rows(value: Value) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor | numpy.ndarray):
        own = as_tensor(value).detach().to(torch.float64)
        yield _row(_TENSOR, own.ndim, *own.shape)
        yield own.reshape(-1)
    elif isinstance(value, bool):
        yield _row(_TRUTH, value)
    elif isinstance(value, int | float):
        yield _row(value)
    elif isinstance(value, str):
        yield _row(_TEXT, len(value), *map(ord, value))
    elif isinstance(value, bytes):
        yield _row(_BYTES, len(value), *value)
    else:
        yield from _several(value)


def _several(value: Value) -> Iterator[torch.Tensor]:
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        yield from _several(Named("", dict(zip(value._fields, value, strict=True))))
    elif isinstance(value, list | tuple):
        yield _row(_SEVERAL, len(value))
        for element in value:
            yield from _rows(element)
    elif isinstance(value, set | frozenset):
        yield from _several(sorted(value, key=repr))
    elif isinstance(value, dict):
        yield _row(_PAIRS, len(value))
        for key in sorted(value, key=repr):
            yield from _rows(key)
            yield from _rows(value[key])
    elif isinstance(value, Named):
        yield _row(_NAMED, len(value.fields))
        for own in value.fields.values():
            yield from _rows(own)
    elif value is None:
        yield _row(_NOTHING)
    else:
        words = repr(value) if isinstance(value, Foreign | Elsewhere) else str(value)
        yield _row(_OTHER, *map(ord, words))


def _row(*numbers: float) -> torch.Tensor:
    return torch.tensor(numbers, dtype=torch.float64)
