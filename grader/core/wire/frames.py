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
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from grader.core.wire.records import BadFrame
from grader.core.wire.tensors import MAX_PAYLOAD
from grader.core.wire.value_tree import MAX_TEXT, TreeReader, TreeWriter
from grader.core.wire.values import Value

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
