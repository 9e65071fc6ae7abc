"""Frames: how named values cross the border between judge and worker, as plain data.

A frame is a fixed prefix (two lengths), a JSON header, and the raw bytes of what the header
describes, one after another. Nothing is ever unpickled, and whatever a frame claims is checked
before it is believed: a frame that is malformed in any way raises `BadFrame`.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from grader.wire.payload import MAX_PAYLOAD, BadFrame, Payload
from grader.wire.trees import Reading, Writing
from grader.wire.values import Value

MAX_HEADER = 4 << 20
_PREFIX = struct.Struct(">4sIQ")
_MAGIC = b"GRDR"
# Made once.
_AS_TEXT = json.JSONEncoder(separators=(",", ":")).encode


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
    """One frame: a JSON header, and named values beside it.

    Raises:
        BadFrame: if it would be larger than what may cross.
    """
    writing = Writing()
    described = {name: writing.entry(value) for name, value in values.items()}
    text = _AS_TEXT([header, described]).encode()
    size = sum(map(len, writing.chunks))
    if len(text) > MAX_HEADER or size > MAX_PAYLOAD:
        raise BadFrame(f"a frame of {len(text)} + {size} bytes is larger than what may cross")
    return b"".join([_PREFIX.pack(_MAGIC, len(text), size), text, *writing.chunks])


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
    payload = Payload(frame.body, header_size)
    reading = Reading(payload, trusted)
    values = {name: reading.value(entry) for name, entry in described.items()}
    if payload.left:
        raise BadFrame("a frame holds more bytes than its values have")
    return header, values
