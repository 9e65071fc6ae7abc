"""Tensors as bytes: a frame describes dtype and shape, and holds the raw bytes after that."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy
import torch

from grader.core.wire.records import BadFrame

MAX_PAYLOAD = 256 << 20
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
