"""Frames: how named values cross the border between judge and worker, as plain data.

A frame is a fixed prefix (two lengths), a JSON header, and the raw bytes of the tensors that the
header describes. Nothing is ever unpickled, and whatever a frame claims is checked before it is
believed: a frame that is malformed in any way raises `BadFrame`.
"""

from __future__ import annotations

import ctypes
import json
import math
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

MAX_HEADER = 1 << 20
MAX_PAYLOAD = 256 << 20
_PREFIX = struct.Struct(">4sIQ")
_MAGIC = b"GRDR"
_ALIGNMENT = 16
_INTEGERS = 1 << 63
_LONGEST_WORDS = 60
_MOST = 8

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


def encode(header: Mapping[str, Any], values: Mapping[str, Value]) -> bytes:
    """One frame: a JSON header, and named values beside it."""
    described: dict[str, Any] = {}
    chunks: list[bytes] = []
    size = 0
    for name, value in values.items():
        if isinstance(value, torch.Tensor):
            data = _bytes_of(value)
            described[name] = {
                "dtype": _NAMES[value.dtype],
                "shape": list(value.shape),
                "strides": None if value.is_contiguous() else list(value.stride()),
                "offset": size,
                "bytes": len(data),
            }
            padding = -len(data) % _ALIGNMENT
            chunks += [data, bytes(padding)]
            size += len(data) + padding
        elif isinstance(value, Foreign):
            elements = [element and _outline(element) for element in value.elements]
            described[name] = {"foreign": value.description, "elements": elements}
        elif isinstance(value, Elsewhere):
            described[name] = _outline(value)
        else:
            described[name] = {"plain": value}
    text = json.dumps({"header": header, "values": described}).encode()
    if len(text) > MAX_HEADER or size > MAX_PAYLOAD:
        raise BadFrame(f"a frame of {len(text)} + {size} bytes is larger than what may cross")
    return b"".join([_PREFIX.pack(_MAGIC, len(text), size), text, *chunks])


def decode(
    read: Callable[[int], bytearray], trusted: bool = False
) -> tuple[dict[str, Any], dict[str, Value]]:
    """The next frame of a channel, of which `read` returns exactly so many bytes.

    Only a trusted sender may use strides: with them a few bytes can pose as 2^40 numbers.

    Raises:
        BadFrame: if the bytes are not a frame, or claim what they do not hold.
    """
    magic, header_size, payload_size = _PREFIX.unpack(read(_PREFIX.size))
    if magic != _MAGIC or header_size > MAX_HEADER or payload_size > MAX_PAYLOAD:
        raise BadFrame("the bytes on the channel are no frame")
    try:
        text = json.loads(read(header_size))
    except (ValueError, RecursionError) as error:
        raise BadFrame("a frame's header is not JSON") from error
    payload = read(payload_size)
    if not isinstance(text, dict) or not isinstance(text.get("header"), dict):
        raise BadFrame("a frame's header is not what it must be")
    values = text.get("values")
    if not isinstance(values, dict):
        raise BadFrame("a frame's values are not what they must be")
    if _claimed(values) > len(payload):
        raise BadFrame("a frame's tensors share bytes")
    return text["header"], {name: _value(entry, payload, trusted) for name, entry in values.items()}


def _claimed(values: Mapping[str, Any]) -> int:
    """The bytes that all tensors together say they have."""
    entries = [entry.get("bytes") for entry in values.values() if isinstance(entry, dict)]
    return sum(size for size in entries if isinstance(size, int) and size > 0)


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


def _value(entry: object, payload: bytearray, trusted: bool) -> Value:
    if not isinstance(entry, dict):
        raise BadFrame("a value is not described by an object")
    if "plain" in entry:
        plain = entry["plain"]
        if isinstance(plain, int) and abs(plain) >= _INTEGERS:
            raise BadFrame("an integer does not fit 64 bits")
        if plain is None or isinstance(plain, bool | int | float | str):
            return plain
        raise BadFrame("a plain value is neither a number nor a text")
    if "foreign" in entry:
        elements = entry.get("elements", [])
        if not isinstance(elements, list):
            raise BadFrame("the elements of a value are not a list")
        known = [None if element is None else _elsewhere(element) for element in elements[:_MOST]]
        return Foreign(str(entry["foreign"])[:500], tuple(known))
    if "device" in entry:
        return _elsewhere(entry)
    shape = _sizes(entry.get("shape"))
    dtype = entry.get("dtype")
    if not isinstance(dtype, str):
        raise BadFrame("a tensor has no dtype")
    if dtype not in DTYPES:
        raise BadFrame("a tensor has a dtype that may not cross")
    if not trusted and entry.get("strides") is not None:
        raise BadFrame("a tensor that must be contiguous has strides")
    return _tensor(entry, shape, DTYPES[dtype], payload)


def _outline(tensor: Elsewhere) -> dict[str, Any]:
    return {"dtype": tensor.dtype, "shape": list(tensor.shape), "device": tensor.device}


def _elsewhere(entry: object) -> Elsewhere:
    if not isinstance(entry, dict) or not isinstance(entry.get("dtype"), str):
        raise BadFrame("a tensor has no dtype")
    shape, device = _sizes(entry.get("shape")), str(entry.get("device"))
    return Elsewhere(entry["dtype"][:40], shape, device[:40])


def _sizes(numbers: object) -> tuple[int, ...]:
    if not isinstance(numbers, list) or len(numbers) > 32:
        raise BadFrame("a tensor's shape is not a list of sizes")
    for size in numbers:
        if type(size) is not int or not 0 <= size <= MAX_PAYLOAD:
            raise BadFrame("a tensor's shape is not a list of sizes")
    return tuple(numbers)


def _tensor(
    entry: Mapping[str, Any], shape: tuple[int, ...], dtype: torch.dtype, payload: bytearray
) -> torch.Tensor:
    count = math.prod(shape)
    if (count or math.prod(max(size, 1) for size in shape)) > MAX_PAYLOAD:
        raise BadFrame("a tensor has more elements than may cross")
    if count == 0:
        return torch.empty(shape, dtype=dtype)
    strides = None if entry.get("strides") is None else _sizes(entry["strides"])
    if strides is not None:
        if len(strides) != len(shape):
            raise BadFrame("a tensor has not as many strides as axes")
        count = 1 + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
    offset, claimed = _sizes([entry.get("offset"), entry.get("bytes")])
    if claimed != count * dtype.itemsize or offset + claimed > len(payload):
        raise BadFrame("a tensor's bytes are not as many as its shape says")
    data = payload[offset : offset + claimed]
    # A byte that is neither 0 nor 1 is no boolean: read as numbers, then asked.
    flat = torch.frombuffer(data, dtype=torch.uint8 if dtype is torch.bool else dtype)
    flat = flat.ne(0) if dtype is torch.bool else flat
    return flat.view(shape) if strides is None else flat.as_strided(shape, strides)
