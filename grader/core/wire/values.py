"""The values that cross the border, as bytes, in words, and as one row of numbers.

Numbers, texts, bytes, None, tensors, numpy arrays, dtypes and devices cross, and lists, tuples,
dicts, sets and named tuples of them. Anything else crosses only as a description. A frame describes
the dtype and the shape of a tensor, and holds its raw bytes after that.
"""

from __future__ import annotations

import ctypes
import heapq
import itertools
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy
import torch

from grader.core.wire import ROW_MARKS
from grader.core.wire.records import BadFrame

MAX_PAYLOAD = 256 << 20
# A file that a submission wrote, of at most 32 MB, and its description.
MAX_ANSWER = 33 << 20
MAX_AXES = 32

DTYPES: Mapping[str, torch.dtype] = {
    name: getattr(torch, name)
    for name in (
        *("bool", "uint8", "int8", "int16", "int32", "int64"),
        *("float16", "bfloat16", "float32", "float64"),
    )
}
NAMES = {dtype: name for name, dtype in DTYPES.items()}
# numpy makes a tensor from bytes faster than torch alone does. It has no bfloat16, and the bytes of
# booleans need a check.
_OF_NUMPY = {name: numpy.dtype(name) for name in DTYPES if name not in ("bool", "bfloat16")}


def described(tensor: torch.Tensor) -> list[Any]:
    """Returns a tensor's dtype and shape, and its strides if it is not contiguous."""
    row = [NAMES[tensor.dtype], list(tensor.shape)]
    return row if tensor.is_contiguous() else [*row, list(tensor.stride())]


def bytes_of(tensor: torch.Tensor) -> bytes:
    """Returns the memory from a tensor's first to its last element, in its own layout."""
    span = tensor.numel()
    if span == 0:
        return b""
    if not tensor.is_contiguous():
        span = 1 + sum(
            (size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True)
        )
    return ctypes.string_at(tensor.data_ptr(), span * tensor.element_size())


def read_tensor(
    entry: Sequence[object], take: Callable[[int], bytearray], trusted: bool
) -> torch.Tensor:
    """Returns the tensor whose entry `described` wrote; `take` returns the frame's next bytes.

    Raises:
        BadFrame: if the entry is malformed, or claims more bytes than the frame holds.
    """
    name, shape, strides = _checked_entry(entry, trusted)
    dtype = DTYPES[name]
    count = elements_in(shape)
    if count == 0:
        return torch.empty(shape, dtype=dtype)
    if strides is not None:
        count = 1 + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
    data = take(count * dtype.itemsize)
    if (layout := _OF_NUMPY.get(name)) is not None:
        steps = strides and [stride * layout.itemsize for stride in strides]
        return torch.from_numpy(numpy.ndarray(shape, layout, data, strides=steps))
    if dtype is torch.bool:
        # A byte other than 0 and 1 is not a boolean: read numbers, and compare them with 0.
        flat = torch.frombuffer(data, dtype=torch.uint8).ne(0)
    else:
        flat = torch.frombuffer(data, dtype=dtype)
    return flat.view(shape) if strides is None else flat.as_strided(shape, strides)


def elements_in(shape: Sequence[int]) -> int:
    """Returns how many elements a shape has.

    Raises:
        BadFrame: if that is more than may cross, or would be if no axis were empty.
    """
    count = math.prod(shape)
    if count > MAX_PAYLOAD or (count == 0 and math.prod(size or 1 for size in shape) > MAX_PAYLOAD):
        raise BadFrame("a tensor has more elements than allowed")
    return count


def sizes(numbers: object) -> list[int]:
    """Returns the sizes of a shape.

    Raises:
        BadFrame: if `numbers` is not a list of sizes.
    """
    if not isinstance(numbers, list) or len(numbers) > MAX_AXES:
        raise BadFrame("a tensor's shape is not a list of sizes")
    for size in numbers:
        if type(size) is not int or not 0 <= size <= MAX_PAYLOAD:
            raise BadFrame("a tensor's shape is not a list of sizes")
    return numbers


def _checked_entry(
    entry: Sequence[object], trusted: bool
) -> tuple[str, Sequence[int], Sequence[int] | None]:
    """Returns the dtype, the shape and the strides in a tensor's entry."""
    if not 2 <= len(entry) <= 3:
        raise BadFrame("a tensor has no dtype or no shape")
    name, shape = entry[0], sizes(entry[1])
    if not isinstance(name, str) or name not in DTYPES:
        raise BadFrame("a tensor has a dtype that is not allowed")
    if len(entry) == 2:
        return name, shape, None
    strides = sizes(entry[2])
    if not trusted:
        raise BadFrame("a tensor that must be contiguous has strides")
    if len(strides) != len(shape):
        raise BadFrame("a tensor has not as many strides as axes")
    return name, shape, strides


# Characters of one text, and of a whole value: collections may be nested.
_LONGEST_WORDS, _LONGEST_VALUE = 60, 500
_SHOWN = 4
# A submission can return a set of any size.
_MOST_SORTED = 1000


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


def on_one_line(name: str, longest: int) -> str:
    """Returns the beginning of a name that a submission chose, with single spaces in one line."""
    return " ".join(name[:longest].split())


def tensor_in_words(dtype: torch.dtype | str, shape: tuple[int, ...]) -> str:
    """Returns the dtype and shape of a tensor: `float32[2, 5, 8]`."""
    return f"{str(dtype).removeprefix('torch.')}{list(shape)}"


def in_words(value: Value) -> str:
    """Returns a value in a few words: a tensor's dtype and shape, a collection's first items."""
    words = _in_words(value)
    return words if len(words) <= _LONGEST_VALUE else f"{words[: _LONGEST_VALUE - 1]}…"


def _in_words(value: Value) -> str:
    if isinstance(value, Foreign):
        return value.description
    if isinstance(value, Local):
        return value.kind or "…"
    if isinstance(value, torch.Tensor | Elsewhere):
        return tensor_in_words(value.dtype, tuple(value.shape))
    if isinstance(value, numpy.ndarray):
        return f"numpy {tensor_in_words(str(value.dtype), value.shape)}"
    if isinstance(value, Named):
        return f"{value.name}({_some(f'{k}={_in_words(v)}' for k, v in value.fields.items())})"
    if isinstance(value, dict):
        return f"{{{_some(f'{_in_words(k)}: {_in_words(v)}' for k, v in value.items())}}}"
    if isinstance(value, list):
        return f"[{_some(map(_in_words, value))}]"
    if isinstance(value, tuple):
        return f"({_some(map(_in_words, value))}{',' * (len(value) == 1)})"
    if isinstance(value, set | frozenset):
        # The order of a set of texts differs from process to process.
        # Each element is put into words once: twice would take 2^depth steps for nested sets.
        some = itertools.islice(value, _MOST_SORTED)
        first = heapq.nsmallest(_SHOWN + 1, ((*_number(one), _in_words(one)) for one in some))
        return f"{{{_some(words for *_, words in first)}}}" if value else "set()"
    if isinstance(value, str | bytes):
        # Cut before repr(), which takes many times the size of a text of megabytes.
        value = value[: _LONGEST_WORDS + 1]
    words = repr(value)
    return words if len(words) <= _LONGEST_WORDS else f"{words[:_LONGEST_WORDS]}…"


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


def _some(words: Iterable[str]) -> str:
    """Returns the first few of the words, and an ellipsis if there are more."""
    first = list(itertools.islice(words, _SHOWN + 1))
    return ", ".join([*first[:_SHOWN], "…"] if len(first) > _SHOWN else first)


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
    is_other, number = _number(value)
    return is_other, number, repr(value) if is_other else ""


def _number(value: Value) -> tuple[bool, float]:
    """Returns the sorting key of a number; all other values have one key, which comes after."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return False, value
    return True, 0.0
