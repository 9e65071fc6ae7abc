"""How values cross: as trees of JSON in a frame's header, and the bytes that follow it.

A tree has bounds: `MAX_DEPTH` levels, `MAX_NODES` nodes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy
import torch

from grader.core.wire.tensors import (
    DTYPES,
    NAMES,
    BadFrame,
    Payload,
    bytes_of,
    described,
    elements_in,
    read_tensor,
    sizes,
)
from grader.core.wire.values import Elsewhere, Foreign, Local, Named, Value

MAX_DEPTH = 32
MAX_NODES = 1 << 18
ARRAY_DTYPES = frozenset(
    [
        *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float16", "float32", "float64"),
    ]
)
_INTEGERS = 1 << 63
_SHORT_TEXT = 200
_FEW_NUMBERS = 8
# Of lists of numbers alone, in all.
_MAX_NUMBERS = MAX_NODES
# Bytes of long texts in an answer, in all: Python may take four for one of them.
MAX_TEXT = 8 << 20
# Keys of texts and bytes cannot be made to collide, those of numbers can.
_SAME_HASH = 16
_NAME = 100
_SEQUENCES: Mapping[str, Callable[[Iterable[Any]], Any]] = {
    "list": list,
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
}


class TreeWriter:
    """Lays out values as JSON, and collects the bytes that follow; `text` are those of texts."""

    def __init__(self) -> None:
        self.chunks: list[bytes] = []
        self.text = 0
        self._nodes = 0

    def entry(self, value: Value, depth: int = 0) -> Any:
        """Returns a value as JSON.

        Raises:
            BadFrame: if there are too many, or too deep in one another.
        """
        self._nodes += 1
        if depth > MAX_DEPTH or self._nodes > MAX_NODES:
            raise BadFrame("a value is of too many parts, or too deeply nested")
        if isinstance(value, torch.Tensor):
            self.chunks.append(bytes_of(value))
            return described(value)
        if value is None or isinstance(value, bool | int | float):
            return value
        if isinstance(value, str):
            return value if len(value) <= _SHORT_TEXT else self._text(value)
        if isinstance(value, bytes):
            return {"bytes": self._bytes(value)}
        return self._part(value, depth) or self._several(value, depth)

    def _part(self, value: Value, depth: int) -> dict[str, Any] | None:
        if isinstance(value, Foreign):
            return {"foreign": value.description}
        if isinstance(value, Elsewhere):
            outline = {"dtype": value.dtype, "shape": list(value.shape), "device": value.device}
            return {"elsewhere": outline}
        if isinstance(value, Local):
            return {"local": value.number}
        if isinstance(value, torch.dtype):
            return {"dtype": NAMES[value]}
        if isinstance(value, torch.device):
            return {"device": str(value)}
        if isinstance(value, numpy.ndarray):
            self.chunks.append(value.tobytes())
            return {"array": [str(value.dtype), list(value.shape)]}
        if isinstance(value, Named):
            fields = [[name, self.entry(own, depth + 1)] for name, own in value.fields.items()]
            return {"named": [value.name, fields]}
        return None

    def _several(self, value: Value, depth: int) -> dict[str, Any]:
        if isinstance(value, dict):
            pairs = value.items()
            return {
                "dict": [[self.entry(k, depth + 1), self.entry(v, depth + 1)] for k, v in pairs]
            }
        for kind, make in _SEQUENCES.items():
            if isinstance(value, make):  # type: ignore[arg-type]
                packed = self._numbers(value) if kind == "list" else None  # type: ignore[arg-type]
                return packed or {kind: [self.entry(one, depth + 1) for one in value]}  # type: ignore[union-attr]
        raise BadFrame(f"a {type(value).__name__} cannot cross")

    def _numbers(self, values: Sequence[Value]) -> dict[str, int] | None:
        """Packs many numbers of one kind into a few bytes each; None for other values."""
        kinds = set(map(type, values)) if len(values) >= _FEW_NUMBERS else set()
        if kinds == {int}:
            numbers = numpy.array(values, dtype=numpy.int64)
        elif kinds == {float}:
            numbers = numpy.array(values, dtype=numpy.float64)
        else:
            return None
        self.chunks.append(numbers.tobytes())
        return {"ints" if kinds == {int} else "floats": len(values)}

    def _text(self, value: str) -> dict[str, int]:
        size = self._bytes(value.encode("utf-8", "surrogatepass"))
        self.text += size
        return {"text": size}

    def _bytes(self, data: bytes) -> int:
        self.chunks.append(data)
        return len(data)


class Reading:
    """Reads values from what `TreeWriter` laid out; whatever it claims is checked first."""

    def __init__(self, payload: Payload, trusted: bool) -> None:
        self._payload = payload
        self._trusted = trusted
        self._nodes = 0
        self._numbers = 0
        self._text = 0

    def value(self, entry: object, depth: int = 0) -> Value:
        """Returns the value of an entry.

        Raises:
            BadFrame: if it is none.
        """
        self._nodes += 1
        if depth > MAX_DEPTH or self._nodes > MAX_NODES:
            raise BadFrame("a value is of too many parts, or too deeply nested")
        if isinstance(entry, list):
            return read_tensor(entry, self._payload, self._trusted)
        if isinstance(entry, dict):
            return self._tagged(entry, depth)
        if isinstance(entry, int) and abs(entry) >= _INTEGERS:
            raise BadFrame("an integer does not fit 64 bits")
        if entry is None or isinstance(entry, (int, float, str)):
            return entry
        raise BadFrame("a plain value is neither a number nor a text")

    def _tagged(self, entry: Mapping[str, Any], depth: int) -> Value:
        if len(entry) != 1:
            raise BadFrame("a value is not of one kind")
        (kind, content), *_ = entry.items()
        if kind in _SEQUENCES:
            return self._collected(kind, [self.value(one, depth + 1) for one in _list(content)])
        if kind == "dict":
            return self._dict(content, depth)
        if kind == "named":
            return self._named(content, depth)
        if kind in ("bytes", "text", "ints", "floats"):
            return self._packed(kind, content)
        return self._single(kind, content)

    def _single(self, kind: str, content: Any) -> Value:
        if kind == "foreign":
            return Foreign(str(content)[:500])
        if kind == "elsewhere":
            return _elsewhere(content)
        if kind == "array":
            return self._array(content)
        if kind == "local" and self._trusted:
            return Local(int(content))
        if kind == "dtype" and isinstance(content, str) and content in DTYPES:
            return DTYPES[content]
        if kind == "device" and isinstance(content, str):
            return _device(content)
        raise BadFrame("a value is of a kind that there is not")

    @staticmethod
    def _collected(kind: str, values: list[Value]) -> Value:
        if kind.endswith("set"):
            _check_keys(values)
        collected: Value = _SEQUENCES[kind](values)
        return collected

    def _dict(self, content: object, depth: int) -> dict[Any, Value]:
        pairs = [[self.value(one, depth + 1) for one in _pair(pair)] for pair in _list(content)]
        _check_keys([key for key, _ in pairs])
        return dict(pairs)  # type: ignore[arg-type]

    def _named(self, content: object, depth: int) -> Named:
        name, fields = _pair(content)
        rows = [_pair(row) for row in _list(fields)]
        if not all(isinstance(field, str) for field in (name, *(row[0] for row in rows))):
            raise BadFrame("a named tuple has no names")
        return Named(
            name[:_NAME], {field[:_NAME]: self.value(one, depth + 1) for field, one in rows}
        )

    def _packed(self, kind: str, count: object) -> Value:
        if type(count) is not int or count < 0:
            raise BadFrame("there is no number of what follows")
        if kind == "bytes":
            return bytes(self._payload.take(count))
        if kind == "text":
            self._text += count
            if self._text > MAX_TEXT and not self._trusted:
                raise BadFrame("texts are longer than may cross")
            return _decoded(self._payload.take(count))
        dtype = numpy.int64 if kind == "ints" else numpy.float64
        self._numbers += count
        if self._numbers > _MAX_NUMBERS:
            raise BadFrame("lists hold more numbers than may cross")
        numbers: list[Any] = numpy.frombuffer(self._payload.take(8 * count), dtype).tolist()
        return numbers

    def _array(self, content: object) -> numpy.ndarray[Any, Any]:
        name, shape = _pair(content)
        if not isinstance(name, str) or name not in ARRAY_DTYPES:
            raise BadFrame("an array has a dtype that may not cross")
        count, layout = elements_in(sizes(shape)), numpy.dtype(name)
        data = self._payload.take(count * layout.itemsize)
        flat = numpy.frombuffer(data, numpy.uint8 if name == "bool" else layout)
        return (flat != 0 if name == "bool" else flat).reshape(shape)


def _check_keys(keys: Sequence[Value]) -> None:
    """Refuses keys that are none, or that were made to be slow.

    Raises:
        BadFrame: if there are such.
    """
    try:
        hashes = Counter(map(hash, keys))
    except TypeError as error:
        raise BadFrame("a dict or a set holds what can be no key") from error
    if max(hashes.values(), default=0) > _SAME_HASH:
        raise BadFrame("the keys of a dict or a set are too much alike")


def _decoded(data: bytearray) -> str:
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise BadFrame("a text is not encoded as it must be") from error


def _elsewhere(entry: object) -> Elsewhere:
    if not isinstance(entry, dict) or not isinstance(entry.get("dtype"), str):
        raise BadFrame("a tensor has no dtype")
    shape, device = sizes(entry.get("shape")), str(entry.get("device"))
    return Elsewhere(entry["dtype"][:40], tuple(shape), device[:40])


def _device(name: str) -> torch.device:
    try:
        return torch.device(name[:_NAME])
    except RuntimeError as error:
        raise BadFrame("there is no such device") from error


def _list(content: object) -> list[Any]:
    if not isinstance(content, list):
        raise BadFrame("the parts of a value are not a list")
    return content


def _pair(content: object) -> tuple[Any, Any]:
    if not isinstance(content, list) or len(content) != 2:
        raise BadFrame("a part of a value is no pair")
    return content[0], content[1]
