"""Tensors in a frame: dtype and shape in its header, raw bytes after it."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy
import torch

MAX_PAYLOAD = 256 << 20
# A file that a submission wrote, which may have 32 MB, and what is said of it.
MAX_ANSWER = 33 << 20


class BadFrame(Exception):
    """Bytes on the channel that are no frame, or a frame that is not what it must be."""


class Payload:
    """The bytes of a frame's values, which are taken one after another."""

    def __init__(self, body: bytearray, start: int) -> None:
        self._body = memoryview(body)
        self._place = start

    @property
    def left(self) -> int:
        """Returns how many bytes nobody has taken."""
        return len(self._body) - self._place

    def take(self, size: int) -> bytearray:
        """Returns the next bytes, as a copy: no two values share any.

        Raises:
            BadFrame: if there are not so many.
        """
        start = self._place
        if size > len(self._body) - start:
            raise BadFrame("a frame has fewer bytes than its values say")
        self._place = start + size
        # A slice of a bytearray for which there is no memory is no clean MemoryError in Python.
        return bytearray(self._body[start : self._place])


MAX_AXES = 32

DTYPES: Mapping[str, torch.dtype] = {
    "bool": torch.bool,
    "uint8": torch.uint8,
    "int8": torch.int8,
    "int16": torch.int16,
    "int32": torch.int32,
    "int64": torch.int64,
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
    "float32": torch.float32,
    "float64": torch.float64,
}
NAMES = {dtype: name for name, dtype in DTYPES.items()}
# numpy makes tensors of given bytes with less ado than torch. It has no bfloat16.
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


def read_tensor(entry: Sequence[object], payload: Payload, trusted: bool) -> torch.Tensor:
    """Returns the tensor that was `described`, of the payload's next bytes.

    Raises:
        BadFrame: if it is not described as it must be, or claims what the payload does not hold.
    """
    name, shape, strides = _parts(entry, trusted)
    dtype = DTYPES[name]
    count = elements_in(shape)
    if count == 0:
        return torch.empty(shape, dtype=dtype)
    if strides is not None:
        count = 1 + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
    data = payload.take(count * dtype.itemsize)
    if (layout := _OF_NUMPY.get(name)) is not None:
        steps = strides and [stride * layout.itemsize for stride in strides]
        return torch.from_numpy(numpy.ndarray(shape, layout, data, strides=steps))
    if dtype is torch.bool:
        # A byte that is neither 0 nor 1 is no boolean: read as numbers, then asked.
        flat = torch.frombuffer(data, dtype=torch.uint8).ne(0)
    else:
        flat = torch.frombuffer(data, dtype=dtype)
    return flat.view(shape) if strides is None else flat.as_strided(shape, strides)


def elements_in(shape: Sequence[int]) -> int:
    """Returns how many elements a shape has.

    Raises:
        BadFrame: if they are more than may cross, or would be if no axis were empty.
    """
    count = math.prod(shape)
    if count > MAX_PAYLOAD or (count == 0 and math.prod(size or 1 for size in shape) > MAX_PAYLOAD):
        raise BadFrame("a tensor has more elements than may cross")
    return count


def sizes(numbers: object) -> list[int]:
    """Returns the sizes of a shape.

    Raises:
        BadFrame: if they are something else.
    """
    if not isinstance(numbers, list) or len(numbers) > MAX_AXES:
        raise BadFrame("a tensor's shape is not a list of sizes")
    for size in numbers:
        if type(size) is not int or not 0 <= size <= MAX_PAYLOAD:
            raise BadFrame("a tensor's shape is not a list of sizes")
    return numbers


def _parts(
    entry: Sequence[object], trusted: bool
) -> tuple[str, Sequence[int], Sequence[int] | None]:
    """Returns the dtype, the shape and the strides in a tensor's entry."""
    if not 2 <= len(entry) <= 3:
        raise BadFrame("a tensor has no dtype or no shape")
    name, shape = entry[0], sizes(entry[1])
    if not isinstance(name, str) or name not in DTYPES:
        raise BadFrame("a tensor has a dtype that may not cross")
    if len(entry) == 2:
        return name, shape, None
    strides = sizes(entry[2])
    if not trusted:
        raise BadFrame("a tensor that must be contiguous has strides")
    if len(strides) != len(shape):
        raise BadFrame("a tensor has not as many strides as axes")
    return name, shape, strides
