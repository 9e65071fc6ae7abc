"""The tree of values in a frame, as JSON and raw bytes, and the checks of a reader."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy
import torch

from grader.core.wire.records import BadFrame
from grader.core.wire.tensors import (
    DTYPES,
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
