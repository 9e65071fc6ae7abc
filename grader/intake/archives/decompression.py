"""Reading gzip, bzip2 and xz in bounded pieces, however much a piece of input unpacks to.

The standard library's file objects do so too, but give xz no bound on memory, and `tarfile`'s own
decompression unpacks ten kilobytes of bzip2 (gigabytes, from an enemy) in one go.
"""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable
from typing import BinaryIO, Protocol

from grader.core.submission import Unreadable
from grader.intake.copying.limits import MIB
from grader.intake.copying.regular_file import CHUNK

_XZ_MEMORY = 256 * MIB
_STREAMS = 5_000  # laid end to end, as parallel compressors do


class Readable(Protocol):
    """Whatever bytes can be read from."""

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes; none at the end."""


def decompressed(file: BinaryIO) -> Readable:
    """The file's bytes, unpacked if its beginning says that they are compressed.

    Reading raises EOFError when the file is cut off, zlib.error, OSError or LZMAError when it is
    damaged.
    """
    beginning = file.read(6)
    file.seek(0)
    if beginning.startswith(b"\x1f\x8b"):
        return _Decompressed(file, _Gunzip)
    if beginning.startswith(b"BZh"):
        return _Decompressed(file, bz2.BZ2Decompressor)
    if beginning.startswith(b"\xfd7zXZ"):
        return _Decompressed(file, lambda: lzma.LZMADecompressor(memlimit=_XZ_MEMORY))
    return file


class _Decoder(Protocol):
    """What `bz2` and `lzma` call a decompressor."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int) -> bytes: ...


class _Gunzip:
    """zlib's decompressor with the face of the other two."""

    def __init__(self) -> None:
        self._decoder = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)

    @property
    def eof(self) -> bool:
        return self._decoder.eof

    @property
    def needs_input(self) -> bool:
        return not self._decoder.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return self._decoder.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        return self._decoder.decompress(self._decoder.unconsumed_tail + data, max_length)


class _Decompressed:
    """Streams laid end to end, read piece by piece."""

    def __init__(self, file: BinaryIO, start: Callable[[], _Decoder]) -> None:
        self._file = file
        self._start = start
        self._decoder = start()
        self._streams = 1

    def read(self, size: int, /) -> bytes:
        while True:
            data = b""
            if self._decoder.eof:
                data = (self._decoder.unused_data or self._file.read(CHUNK)).lstrip(b"\0")
                if not data:
                    return b""
                self._next_stream()
            elif self._decoder.needs_input and not (data := self._file.read(CHUNK)):
                raise EOFError("it is cut off")
            if piece := self._decoder.decompress(data, size):
                return piece

    def _next_stream(self) -> None:
        self._streams += 1
        if self._streams > _STREAMS:
            raise Unreadable(f"the archive is made of more than {_STREAMS} compressed streams")
        self._decoder = self._start()
