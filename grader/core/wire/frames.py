"""Frames: how named values cross the border between judge and worker, as plain data.

A frame is a prefix (a mark and three lengths), a JSON header, a JSON outline of named values, and
their raw bytes, one after another. The outline is a tree of at most `MAX_DEPTH` levels and
`MAX_NODES` nodes. Nothing is ever unpickled. Every claim of a frame is checked before it is used; a
malformed frame raises `BadFrame`.
"""

from __future__ import annotations

import functools
import hashlib
import io
import json
import operator
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy
import torch

from grader.core.wire.records import BadFrame
from grader.core.wire.tensors import (
    DTYPES,
    MAX_PAYLOAD,
    NAMES,
    bytes_of,
    described,
    elements_in,
    read_tensor,
    sizes,
)
from grader.core.wire.values import Elsewhere, Foreign, Local, Named, Value
from grader.core.wire.values_in_words import on_one_line

MAX_DEPTH = 32
MAX_NODES = 1 << 18
ARRAY_DTYPES = frozenset(
    [
        *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float16", "float32", "float64"),
    ]
)
# Longer texts cross as raw bytes, outside of the JSON.
_SHORT_TEXT = 200
# Bytes of all long texts of an answer together; in memory, Python may take four for one.
MAX_TEXT = 8 << 20
# The most keys with the same hash: numbers can be chosen to collide, texts and bytes cannot.
_SAME_HASH = 16
# The most numbers as keys that do not lie between 0 and the number of keys, as ids do. Numbers of
# different hashes can be chosen so that a dict tries the same places for all of them: 60,000 would
# cost the judge half a minute.
_SCATTERED = 1 << 14
_LONGEST_NAME = 100
_SEQUENCES: Mapping[str, Callable[[Iterable[Any]], Any]] = {
    "list": list,
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
}


def is_int64(number: int) -> bool:
    """Returns whether a number fits 64 bits."""
    return -(1 << 63) <= number < 1 << 63


class TreeWriter:
    """A writer of values as JSON and raw bytes; `text` counts the bytes of long texts."""

    def __init__(self) -> None:
        self.chunks: list[bytes] = []
        self.text = 0
        self._nodes = 0

    def entry(self, value: Value, depth: int = 0) -> Any:
        """Returns a value as JSON.

        Raises:
            BadFrame: if it has too many parts, is nested too deeply, or cannot cross.
        """
        self._nodes += 1
        if depth > MAX_DEPTH or self._nodes > MAX_NODES:
            raise BadFrame("a value has too many parts or levels")
        match value:
            case torch.Tensor():
                self.chunks.append(bytes_of(value))
                return described(value)
            case int() if not is_int64(value):
                raise BadFrame("an integer does not fit 64 bits")
            case None | bool() | int() | float():
                return value
            case str():
                return value if len(value) <= _SHORT_TEXT else self._text(value)
            case bytes():
                return {"bytes": self._bytes(value)}
            case Foreign():
                return {"foreign": value.description}
            case Elsewhere():
                shape = list(value.shape)
                return {"elsewhere": {"dtype": value.dtype, "shape": shape, "device": value.device}}
            case Local():
                return {"local": value.number}
            case torch.dtype():
                return {"dtype": NAMES[value]}
            case torch.device():
                return {"device": str(value)}
            case numpy.ndarray():
                self.chunks.append(value.tobytes())
                return {"array": [str(value.dtype), list(value.shape)]}
            case Named():
                fields = [[name, self.entry(own, depth + 1)] for name, own in value.fields.items()]
                return {"named": [value.name, fields]}
            case dict():
                pairs = [[self.entry(one, depth + 1) for one in pair] for pair in value.items()]
                return {"dict": pairs}
        for kind, make in _SEQUENCES.items():
            if isinstance(value, make):  # type: ignore[arg-type]
                return {kind: [self.entry(one, depth + 1) for one in value]}
        raise BadFrame(f"a {type(value).__name__} cannot cross")

    def _text(self, value: str) -> dict[str, int]:
        size = self._bytes(value.encode("utf-8", "surrogatepass"))
        self.text += size
        return {"text": size}

    def _bytes(self, data: bytes) -> int:
        self.chunks.append(data)
        return len(data)


class TreeReader:
    """A reader of the values that `TreeWriter` wrote; it checks every claim first."""

    def __init__(self, body: bytearray, start: int, trusted: bool) -> None:
        self._body = memoryview(body)
        self._place = start
        self._trusted = trusted
        self._nodes = 0
        self._text = 0

    @property
    def left(self) -> int:
        """Returns how many bytes are left."""
        return len(self._body) - self._place

    def take(self, size: int) -> bytearray:
        """Returns the next `size` bytes as a copy, so that no two values share memory.

        Raises:
            BadFrame: if fewer bytes are left.
        """
        if size > self.left:
            raise BadFrame("a frame has fewer bytes than its values say")
        start, self._place = self._place, self._place + size
        # A memoryview: slicing a bytearray raises no clean MemoryError where memory is short.
        return bytearray(self._body[start : self._place])

    def value(self, entry: object, depth: int = 0) -> Value:
        """Returns the value of an entry.

        Raises:
            BadFrame: if the entry is not a value.
        """
        self._nodes += 1
        if depth > MAX_DEPTH or self._nodes > MAX_NODES:
            raise BadFrame("a value has too many parts or levels")
        if isinstance(entry, list):
            return read_tensor(entry, self.take, self._trusted)
        if isinstance(entry, dict):
            return self._tagged(entry, depth)
        if isinstance(entry, int) and not is_int64(entry):
            raise BadFrame("an integer does not fit 64 bits")
        if entry is None or isinstance(entry, (int, float, str)):
            return entry
        raise BadFrame("a plain value is neither a number nor a text")

    def _tagged(self, entry: Mapping[str, Any], depth: int) -> Value:
        if len(entry) != 1:
            raise BadFrame("a value is not of one kind")
        ((kind, content),) = entry.items()
        match kind:
            case "list" | "tuple" | "set" | "frozenset":
                values = [self.value(one, depth + 1) for one in _list(content)]
                if kind.endswith("set"):
                    _check_keys(values, self._trusted)
                collected: Value = _SEQUENCES[kind](values)
                return collected
            case "dict":
                rows = map(_pair, _list(content))
                pairs = [[self.value(one, depth + 1) for one in row] for row in rows]
                _check_keys([key for key, _ in pairs], self._trusted)
                return dict(pairs)  # type: ignore[arg-type]
            case "named":
                return self._named(content, depth)
            case "bytes" | "text":
                return self._long(kind, content)
            case "foreign" if isinstance(content, str):
                return Foreign(on_one_line(content, 500))
            case "elsewhere":
                return _elsewhere(content)
            case "array":
                return self._array(content)
            case "local" if self._trusted:
                return Local(int(content))
            case "dtype" if isinstance(content, str) and content in DTYPES:
                return DTYPES[content]
            case "device" if isinstance(content, str):
                return _device(content)
        raise BadFrame("a value is of an unknown kind")

    def _named(self, content: object, depth: int) -> Named:
        name, fields = _pair(content)
        rows = [_pair(row) for row in _list(fields)]
        if not all(isinstance(field, str) for field in (name, *(row[0] for row in rows))):
            raise BadFrame("a named tuple has no names")
        return Named(
            on_one_line(name, _LONGEST_NAME),
            {on_one_line(field, _LONGEST_NAME): self.value(one, depth + 1) for field, one in rows},
        )

    def _long(self, kind: str, size: object) -> str | bytes:
        if type(size) is not int or size < 0:
            raise BadFrame("a size is missing")
        if kind == "bytes":
            return bytes(self.take(size))
        self._text += size
        if self._text > MAX_TEXT and not self._trusted:
            raise BadFrame("texts are longer than allowed")
        return _decoded(self.take(size))

    def _array(self, content: object) -> numpy.ndarray[Any, Any]:
        name, shape = _pair(content)
        if not isinstance(name, str) or name not in ARRAY_DTYPES:
            raise BadFrame("an array has a dtype that is not allowed")
        count, layout = elements_in(sizes(shape)), numpy.dtype(name)
        data = self.take(count * layout.itemsize)
        flat = numpy.frombuffer(data, numpy.uint8 if name == "bool" else layout)
        return (flat != 0 if name == "bool" else flat).reshape(shape)


def _check_keys(keys: Sequence[Value], trusted: bool) -> None:
    """Checks that keys can be hashed, and are not chosen to make a dict slow.

    Raises:
        BadFrame: if they cannot be hashed, or too many of them may collide.
    """
    try:
        hashes = [*map(hash, keys)]
    except TypeError as error:
        raise BadFrame("a dict or a set has an unhashable key") from error
    # A dict of the hashes would suffer from the same collisions.
    ordered = sorted(hashes)
    if any(one == other for one, other in zip(ordered, ordered[_SAME_HASH:], strict=False)):
        raise BadFrame("the keys of a dict or a set are too much alike")
    if trusted or len(keys) <= _SCATTERED:
        return
    scattered = (not 0 <= own < len(keys) for own in hashes)
    numbers = (not _has_text(key) for key in keys)
    if sum(map(operator.and_, scattered, numbers)) > _SCATTERED:
        raise BadFrame(f"a dict or a set has more than {_SCATTERED} scattered numbers as keys")


def _has_text(key: Value) -> bool:
    """Returns whether a key's hash depends on this process's secret, as that of a text does."""
    if isinstance(key, tuple | frozenset):
        return any(map(_has_text, key))
    return isinstance(key, str | bytes) and len(key) > 0


def _decoded(data: bytearray) -> str:
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise BadFrame("a text is not encoded as it must be") from error


def _elsewhere(entry: object) -> Elsewhere:
    told = entry if isinstance(entry, dict) else {}
    dtype, device = told.get("dtype"), told.get("device")
    if not isinstance(dtype, str) or not isinstance(device, str):
        raise BadFrame("a tensor has no dtype or no device")
    shape = tuple(sizes(told.get("shape")))
    return Elsewhere(on_one_line(dtype, 40), shape, on_one_line(device, 40))


def _device(name: str) -> torch.device:
    try:
        return torch.device(name[:_LONGEST_NAME])
    except RuntimeError as error:
        raise BadFrame("there is no such device") from error


def _list(content: object) -> list[Any]:
    if not isinstance(content, list):
        raise BadFrame("the parts of a value are not a list")
    return content


def _pair(content: object) -> tuple[Any, Any]:
    if not isinstance(content, list) or len(content) != 2:
        raise BadFrame("a part of a value is not a pair")
    return content[0], content[1]


_PREFIX = struct.Struct(">4sIIQ")
# Parsed JSON takes about this many times its bytes.
_AS_OBJECTS = 16
_MAGIC = b"GRDR"
# Digesting a larger frame takes the judge longer than it saves.
_MOST_DIGESTED = 1 << 20
# Made once: json.dumps() makes a new encoder at each call with separators.
_to_json = json.JSONEncoder(separators=(",", ":")).encode


@dataclass(frozen=True, slots=True)
class FrameBounds:
    """The most bytes of a frame's parts: header, outline of values, values, long texts."""

    header: int
    outline: int
    payload: int
    text: int = MAX_TEXT


# A file that a submission wrote, of at most 32 MB, and its description.
MAX_ANSWER = 33 << 20
ANY_FRAME = FrameBounds(4 << 20, 4 << 20, MAX_PAYLOAD, MAX_PAYLOAD)
# The header holds an exception and uses of forbidden names; the largest value is a file.
ANSWER = FrameBounds(256 << 10, 4 << 20, MAX_ANSWER)
# A report of a worker's confinement or import holds no values.
REPORT = FrameBounds(4 << 20, len("{}"), 0)
# The header lists the recorded steps.
RECORDED = FrameBounds(4 << 20, 4 << 20, MAX_ANSWER)


@dataclass(frozen=True)
class Received:
    """The bytes of a frame that was received: its prefix, and the rest in one piece."""

    prefix: bytes
    body: bytearray

    @property
    def size(self) -> int:
        """Returns about how many bytes of memory the frame's values take."""
        _, header, outline, payload = _PREFIX.unpack(self.prefix)
        size: int = _AS_OBJECTS * (header + outline) + payload
        return size

    @functools.cached_property
    def digest(self) -> bytes | None:
        """Returns a digest of the frame; None for a large one, which is not expected twice."""
        if len(self.body) > _MOST_DIGESTED:
            return None
        digest = hashlib.sha256(self.prefix)
        digest.update(self.body)
        return digest.digest()


def encode(
    header: Mapping[str, Any], values: Mapping[str, Value], bounds: FrameBounds = ANY_FRAME
) -> bytes:
    """Returns one frame: a JSON header, and named values beside it.

    Raises:
        BadFrame: if a value cannot cross, or the frame is larger than `bounds`.
    """
    writer = TreeWriter()
    outline = {name: writer.entry(value) for name, value in values.items()}
    texts = [_to_json(one).encode() for one in (header, outline)]
    lengths = (*map(len, texts), sum(map(len, writer.chunks)))
    if not _fit(lengths, bounds) or writer.text > bounds.text:
        told = " + ".join(map(str, lengths))
        raise BadFrame(f"a frame of {told} bytes is larger than allowed")
    return b"".join([_PREFIX.pack(_MAGIC, *lengths), *texts, *writer.chunks])


def receive(read: Callable[[int], bytearray], bounds: FrameBounds = ANY_FRAME) -> Received:
    """Returns the next frame of a channel; `read` returns exactly the number of bytes asked for.

    Raises:
        BadFrame: if the bytes do not begin as a frame does, or the frame is larger than `bounds`.
    """
    prefix = bytes(read(_PREFIX.size))
    magic, *lengths = _PREFIX.unpack(prefix)
    if magic != _MAGIC:
        raise BadFrame("the bytes on the channel are not a frame")
    if not _fit(lengths, bounds):
        raise BadFrame("a frame is larger than any answer needs to be")
    return Received(prefix, read(sum(lengths)))


def received(frame: bytes) -> Received:
    """Returns what `receive` returns for a frame whose bytes are all here."""
    stream = io.BytesIO(frame)
    return receive(lambda size: bytearray(stream.read(size)))


def _fit(lengths: Sequence[int], bounds: FrameBounds) -> bool:
    header, outline, payload = lengths
    return header <= bounds.header and outline <= bounds.outline and payload <= bounds.payload


def decode(frame: Received, trusted: bool = False) -> tuple[dict[str, Any], dict[str, Value]]:
    """Returns the header and the values in a frame.

    Only a trusted sender may use strides, with which a few bytes can pose as 2^40 numbers.

    Raises:
        BadFrame: if the frame is malformed, or claims more than it holds.
    """
    _, header_size, outline_size, _ = _PREFIX.unpack(frame.prefix)
    start = header_size + outline_size
    header = _read_object(frame.body[:header_size])
    outline = _read_object(frame.body[header_size:start])
    reader = TreeReader(frame.body, start, trusted)
    values = {name: reader.value(entry) for name, entry in outline.items()}
    if reader.left:
        raise BadFrame("a frame holds more bytes than its values have")
    return header, values


def _read_object(text: bytearray) -> dict[str, Any]:
    try:
        read = json.loads(text.decode())
    except (ValueError, RecursionError) as error:
        raise BadFrame("a frame's header is not JSON") from error
    if not isinstance(read, dict):
        raise BadFrame("a frame's header is invalid")
    return read
