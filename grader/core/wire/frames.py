"""Frames: how named values cross the border between judge and worker, as plain data.

A frame is a fixed prefix (three lengths), a JSON header, a JSON outline of named values, and their
raw bytes, one after another. Nothing is ever unpickled, and whatever a frame claims is checked
before it is believed: a frame that is malformed in any way raises `BadFrame`.
"""

from __future__ import annotations

import functools
import hashlib
import json
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from grader.core.wire.tensors import MAX_ANSWER, MAX_PAYLOAD, BadFrame, Payload
from grader.core.wire.trees import MAX_TEXT, Reading, TreeWriter
from grader.core.wire.values import Value

_PREFIX = struct.Struct(">4sIIQ")
# JSON takes about so many times its bytes, as objects of Python.
_AS_OBJECTS = 16
_MAGIC = b"GRDR"
# To digest a larger frame takes the judge longer than it saves.
_MOST_DIGESTED = 1 << 20
# Made once.
_AS_TEXT = json.JSONEncoder(separators=(",", ":")).encode


@dataclass(frozen=True, slots=True)
class FrameBounds:
    """The most bytes of a frame's parts: header, outline of values, values, long texts."""

    header: int
    outline: int
    payload: int
    text: int = MAX_TEXT


ANY_FRAME = FrameBounds(4 << 20, 4 << 20, MAX_PAYLOAD, MAX_PAYLOAD)
# A header says what was raised, and where what is forbidden was used; the largest value is a file.
ANSWER = FrameBounds(256 << 10, 4 << 20, MAX_ANSWER)
# What a worker reports of its confinement and of an import holds no values.
REPORT = FrameBounds(4 << 20, len("{}"), 0)
# Steps are noted in the header.
RECORDED = FrameBounds(4 << 20, 4 << 20, MAX_ANSWER)


@dataclass(frozen=True)
class Received:
    """The bytes of a frame that came: its prefix, and all that follows in one piece."""

    prefix: bytes
    body: bytearray

    @property
    def size(self) -> int:
        """Returns about how many bytes its values take."""
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
        BadFrame: if it would be larger than what may cross.
    """
    writing = TreeWriter()
    described = {name: writing.entry(value) for name, value in values.items()}
    texts = [_AS_TEXT(one).encode() for one in (header, described)]
    sizes = (*map(len, texts), sum(map(len, writing.chunks)))
    if not _fit(sizes, bounds) or writing.text > bounds.text:
        told = " + ".join(map(str, sizes))
        raise BadFrame(f"a frame of {told} bytes is larger than what may cross")
    return b"".join([_PREFIX.pack(_MAGIC, *sizes), *texts, *writing.chunks])


def receive(read: Callable[[int], bytearray], bounds: FrameBounds = ANY_FRAME) -> Received:
    """Returns the next frame of a channel, of which `read` returns exactly so many bytes.

    Raises:
        BadFrame: if what comes does not begin as a frame does.
    """
    prefix = bytes(read(_PREFIX.size))
    magic, *sizes = _PREFIX.unpack(prefix)
    if magic != _MAGIC:
        raise BadFrame("the bytes on the channel are no frame")
    if not _fit(sizes, bounds):
        raise BadFrame("a frame is larger than any answer needs to be")
    return Received(prefix, read(sum(sizes)))


def _fit(sizes: Sequence[int], bounds: FrameBounds) -> bool:
    header, outline, payload = sizes
    return header <= bounds.header and outline <= bounds.outline and payload <= bounds.payload


def decode(frame: Received, trusted: bool = False) -> tuple[dict[str, Any], dict[str, Value]]:
    """Returns the header and the values in a frame.

    Only a trusted sender may use strides: with them a few bytes can pose as 2^40 numbers.

    Raises:
        BadFrame: if it is not what it must be, or claims what it does not hold.
    """
    _, header_size, outline_size, _ = _PREFIX.unpack(frame.prefix)
    start = header_size + outline_size
    header = _read_object(frame.body[:header_size])
    described = _read_object(frame.body[header_size:start])
    payload = Payload(frame.body, start)
    reading = Reading(payload, trusted)
    values = {name: reading.value(entry) for name, entry in described.items()}
    if payload.left:
        raise BadFrame("a frame holds more bytes than its values have")
    return header, values


def _read_object(text: bytearray) -> dict[str, Any]:
    try:
        read = json.loads(text.decode())
    except (ValueError, RecursionError) as error:
        raise BadFrame("a frame's header is not JSON") from error
    if not isinstance(read, dict):
        raise BadFrame("a frame's header is not what it must be")
    return read
