"""Values as one row of numbers each: rows are equal if the values are."""

from __future__ import annotations

from collections.abc import Collection

import numpy
import torch

from grader.core.wire import ROW_MARKS
from grader.core.wire.values import Elsewhere, Foreign, Named, Value, number_key

_MARKS = (*ROW_MARKS.values(),)
_NOTHING, _TRUTH, _TEXT, _BYTES, _SEVERAL, _PAIRS, _OTHER, _TENSOR = _MARKS


def as_tensor(value: Value) -> torch.Tensor:
    """Returns a tensor as it is, a number or an array as a tensor, and others as a float64 row.

    Rows are equal if the values are equal, and near each other if their numbers differ by little.
    The order of a dict or set makes no difference.
    """
    if isinstance(value, torch.Tensor):
        return value
    if isinstance(value, bool | int | float):
        return torch.tensor(value)
    if isinstance(value, numpy.ndarray):
        return torch.from_numpy(value.astype(numpy.float64))
    row: _RowParts = [[]]
    _write(value, row)
    tensors = (torch.as_tensor(one, dtype=torch.float64) for one in row)
    return torch.cat([one.detach().reshape(-1) for one in tensors])


def is_row(tensor: torch.Tensor) -> bool:
    """Returns whether a tensor is the row of a value that is not a tensor, number or array."""
    is_vector = tensor.dtype is torch.float64 and tensor.ndim == 1
    return is_vector and len(tensor) > 0 and float(tensor[0]) in _MARKS


# The numbers of a row, and tensors between them. A tensor for each number would be slow.
_RowParts = list[list[float] | torch.Tensor]


def _write(value: Value, row: _RowParts) -> None:
    """Appends the numbers of a value to the parts of a row, whose last part is a list."""
    numbers = row[-1]
    assert isinstance(numbers, list)
    match value:
        case torch.Tensor() | numpy.ndarray():
            own = as_tensor(value)
            numbers += (_TENSOR, own.ndim, *own.shape)
            row += (own, [])
        case bool():
            numbers += (_TRUTH, value)
        case int() | float():
            numbers.append(value)
        case str():
            numbers += (_TEXT, len(value), *map(ord, value))
        case bytes():
            numbers += (_BYTES, len(value), *value)
        case None:
            numbers.append(_NOTHING)
        case Named():  # A reference may return a plain tuple where the adapter names the fields.
            _write_all(_SEVERAL, value.fields.values(), row)
        case list() | tuple():
            _write_all(_SEVERAL, value, row)
        case set() | frozenset():
            _write_all(_SEVERAL, sorted(value, key=_order), row)
        case dict():
            numbers += (_PAIRS, len(value))
            for key in sorted(value, key=_order):
                _write(key, row)
                _write(value[key], row)
        case _:
            words = repr(value) if isinstance(value, Foreign | Elsewhere) else str(value)
            numbers += (_OTHER, *map(ord, words))


def _write_all(mark: float, values: Collection[Value], row: _RowParts) -> None:
    numbers = row[-1]
    assert isinstance(numbers, list)
    numbers += (mark, len(values))
    for one in values:
        _write(one, row)


def _order(value: Value) -> tuple[bool, float, str]:
    """Returns the sorting key of an element or a key: numbers by value, then others by text."""
    is_other, number = number_key(value)
    return is_other, number, repr(value) if is_other else ""
