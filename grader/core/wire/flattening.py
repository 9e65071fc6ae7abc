"""Any value as one row of numbers, so that answers of every kind are compared alike."""

from __future__ import annotations

from collections.abc import Iterator

import numpy
import torch

from grader.core.wire.values import Elsewhere, Foreign, Named, Value

# What a value is made of stands before its numbers: rows of two kinds of values are never near.
_NOTHING, _TRUTH, _TEXT, _BYTES, _SEVERAL, _PAIRS, _NAMED, _TENSOR, _OTHER = (
    -1e9 - 1e6 * kind for kind in range(9)
)


def as_tensor(value: Value) -> torch.Tensor:
    """A tensor or number as it is in torch; of anything else a row of float64.

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
