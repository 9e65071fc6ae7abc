"""Frames: how named values cross the border between judge and worker, as plain data.

A frame is a fixed prefix (two lengths), a JSON header, and the raw bytes of the tensors that the
header describes, one after another. Nothing is ever unpickled, and whatever a frame claims is
checked before it is believed: a frame that is malformed in any way raises `BadFrame`.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import math
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy
import torch

MAX_HEADER = 1 << 20
MAX_PAYLOAD = 256 << 20
_PREFIX = struct.Struct(">4sIQ")
_MAGIC = b"GRDR"
_INTEGERS = 1 << 63
_LONGEST_WORDS = 60
_MOST = 8
_AXES = 32

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
_NAMES = {dtype: name for name, dtype in DTYPES.items()}
# Made once; and numpy makes tensors of given bytes with less ado than torch. It has no bfloat16.
_AS_TEXT = json.JSONEncoder(separators=(",", ":")).encode
_OF_NUMPY = {name: numpy.dtype(name) for name in DTYPES if name not in ("bool", "bfloat16")}


class BadFrame(Exception):
    """Bytes on the channel that are no frame, or a frame that is not what it must be."""


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A tensor without data on this machine's CPU: what is known of it."""

    dtype: str
    shape: tuple[int, ...]
    device: str


@dataclass(frozen=True, slots=True)
class Foreign:
    """Something that cannot cross: only its description does.

    `elements` are those of a tuple or list: what is known of each that is a tensor.
    """

    description: str
    elements: tuple[Elsewhere | None, ...] = ()


Value = None | bool | int | float | str | torch.Tensor | Foreign | Elsewhere


def tensor_in_words(dtype: torch.dtype | str, shape: tuple[int, ...]) -> str:
    """The dtype and shape of a tensor: `float32[2, 5, 8]`."""
    return f"{str(dtype).removeprefix('torch.')}{list(shape)}"


def in_words(value: Value) -> str:
    """A value in a few words: tensors by dtype and shape."""
    if isinstance(value, Foreign):
        return value.description
    if isinstance(value, torch.Tensor | Elsewhere):
        return tensor_in_words(value.dtype, tuple(value.shape))
    return repr(value)[:_LONGEST_WORDS]


@dataclass(frozen=True)
class Received:
    """The bytes of a frame that came: its prefix, and its header and payload in one piece."""

    prefix: bytes
    body: bytearray

    def digest(self) -> bytes:
        """Equal digests are equal frames."""
        digest = hashlib.sha256(self.prefix)
        digest.update(self.body)
        return digest.digest()


def encode(header: Mapping[str, Any], values: Mapping[str, Value]) -> bytes:
    """One frame: a JSON header, and named values beside it."""
    described: dict[str, Any] = {}
    chunks: list[bytes] = []
    for name, value in values.items():
        if isinstance(value, torch.Tensor):
            described[name] = _description(value)
            chunks.append(_bytes_of(value))
        elif isinstance(value, Foreign):
            elements = [element and _outline(element) for element in value.elements]
            described[name] = {"foreign": value.description, "elements": elements}
        elif isinstance(value, Elsewhere):
            described[name] = _outline(value)
        else:
            described[name] = value
    text = _AS_TEXT([header, described]).encode()
    size = sum(map(len, chunks))
    if len(text) > MAX_HEADER or size > MAX_PAYLOAD:
        raise BadFrame(f"a frame of {len(text)} + {size} bytes is larger than what may cross")
    return b"".join([_PREFIX.pack(_MAGIC, len(text), size), text, *chunks])


def receive(read: Callable[[int], bytearray]) -> Received:
    """The next frame of a channel, of which `read` returns exactly so many bytes.

    Raises:
        BadFrame: if what comes does not begin as a frame does.
    """
    prefix = bytes(read(_PREFIX.size))
    magic, header_size, payload_size = _PREFIX.unpack(prefix)
    if magic != _MAGIC or header_size > MAX_HEADER or payload_size > MAX_PAYLOAD:
        raise BadFrame("the bytes on the channel are no frame")
    return Received(prefix, read(header_size + payload_size))


def decode(frame: Received, trusted: bool = False) -> tuple[dict[str, Any], dict[str, Value]]:
    """The header and the values in a frame.

    Only a trusted sender may use strides: with them a few bytes can pose as 2^40 numbers.

    Raises:
        BadFrame: if it is not what it must be, or claims what it does not hold.
    """
    _, header_size, _ = _PREFIX.unpack(frame.prefix)
    try:
        text = json.loads(frame.body[:header_size].decode())
    except (ValueError, RecursionError) as error:
        raise BadFrame("a frame's header is not JSON") from error
    if not isinstance(text, list) or len(text) != 2:
        raise BadFrame("a frame's header is not what it must be")
    header, described = text
    if not isinstance(header, dict) or not isinstance(described, dict):
        raise BadFrame("a frame's header is not what it must be")
    payload = _Payload(frame.body, header_size)
    values = {name: _value(entry, payload, trusted) for name, entry in described.items()}
    if payload.left:
        raise BadFrame("a frame holds more bytes than its tensors have")
    return header, values


class _Payload:
    """The bytes of a frame's tensors, which are taken one after another."""

    def __init__(self, body: bytearray, start: int) -> None:
        self._body = memoryview(body)
        self._place = start

    @property
    def left(self) -> int:
        """How many bytes nobody has taken."""
        return len(self._body) - self._place

    def take(self, size: int) -> bytearray:
        """The next bytes, as a copy: no two tensors share any."""
        start = self._place
        if size > len(self._body) - start:
            raise BadFrame("a frame has fewer bytes than its tensors say")
        self._place = start + size
        # A slice of a bytearray for which there is no memory is no clean MemoryError in Python.
        return bytearray(self._body[start : self._place])


def _description(tensor: torch.Tensor) -> list[Any]:
    """A tensor's dtype and shape, and its strides if it is not contiguous."""
    described = [_NAMES[tensor.dtype], list(tensor.shape)]
    return described if tensor.is_contiguous() else [*described, list(tensor.stride())]


def _bytes_of(tensor: torch.Tensor) -> bytes:
    """The memory from a tensor's first to its last element, in its own layout."""
    span = tensor.numel()
    if span == 0:
        return b""
    if not tensor.is_contiguous():
        span = 1 + sum(
            (size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True)
        )
    return ctypes.string_at(tensor.data_ptr(), span * tensor.element_size())


def _value(entry: object, payload: _Payload, trusted: bool) -> Value:
    if isinstance(entry, list):
        return _tensor(entry, payload, trusted)
    if isinstance(entry, dict):
        return _foreign(entry) if "foreign" in entry else _elsewhere(entry)
    if isinstance(entry, int) and abs(entry) >= _INTEGERS:
        raise BadFrame("an integer does not fit 64 bits")
    if entry is None or isinstance(entry, (int, float, str)):
        return entry
    raise BadFrame("a plain value is neither a number nor a text")


def _foreign(entry: Mapping[str, Any]) -> Foreign:
    elements = entry.get("elements", [])
    if not isinstance(elements, list):
        raise BadFrame("the elements of a value are not a list")
    known = [None if element is None else _elsewhere(element) for element in elements[:_MOST]]
    return Foreign(str(entry["foreign"])[:500], tuple(known))


def _outline(tensor: Elsewhere) -> dict[str, Any]:
    return {"dtype": tensor.dtype, "shape": list(tensor.shape), "device": tensor.device}


def _elsewhere(entry: object) -> Elsewhere:
    if not isinstance(entry, dict) or not isinstance(entry.get("dtype"), str):
        raise BadFrame("a tensor has no dtype")
    shape, device = _sizes(entry.get("shape")), str(entry.get("device"))
    return Elsewhere(entry["dtype"][:40], tuple(shape), device[:40])


def _sizes(numbers: object) -> list[int]:
    if not isinstance(numbers, list) or len(numbers) > _AXES:
        raise BadFrame("a tensor's shape is not a list of sizes")
    for size in numbers:
        if type(size) is not int or not 0 <= size <= MAX_PAYLOAD:
            raise BadFrame("a tensor's shape is not a list of sizes")
    return numbers


def _tensor(entry: Sequence[object], payload: _Payload, trusted: bool) -> torch.Tensor:
    name, shape, strides = _described(entry, trusted)
    dtype = DTYPES[name]
    count = math.prod(shape)
    if count > MAX_PAYLOAD or (count == 0 and math.prod(size or 1 for size in shape) > MAX_PAYLOAD):
        raise BadFrame("a tensor has more elements than may cross")
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


def _described(
    entry: Sequence[object], trusted: bool
) -> tuple[str, Sequence[int], Sequence[int] | None]:
    """The dtype, the shape and the strides in a tensor's entry."""
    if not 2 <= len(entry) <= 3:
        raise BadFrame("a tensor has no dtype or no shape")
    name, shape = entry[0], _sizes(entry[1])
    if not isinstance(name, str) or name not in DTYPES:
        raise BadFrame("a tensor has a dtype that may not cross")
    if len(entry) == 2:
        return name, shape, None
    strides = _sizes(entry[2])
    if not trusted:
        raise BadFrame("a tensor that must be contiguous has strides")
    if len(strides) != len(shape):
        raise BadFrame("a tensor has not as many strides as axes")
    return name, shape, strides
