"""Unpacking a tar as a stream, believing nothing that it says of itself."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from typing import IO, BinaryIO, cast

from grader.core.submission import Unreadable
from grader.intake.archives.decompression import Readable, decompressed
from grader.intake.archives.member import member_parts
from grader.intake.copying.admission import Admission
from grader.intake.copying.limits import MIB, CopyLimits
from grader.intake.copying.private_copy import PrivateCopy
from grader.intake.copying.regular_file import CHUNK
from grader.intake.naming import size_in_words

_HEADERS_OF_ONE_MEMBER = MIB


def unpack_tar(file: BinaryIO, copy: PrivateCopy, limits: CopyLimits) -> Admission:
    """Unpack what is wanted of a tar, plain or compressed, and stop at what is too much.

    Raises Unreadable as `grader.intake.archives.archive.unpack` does, and whatever `tarfile` and
    the decompressors raise for damaged ones.
    """
    admission = Admission(limits)
    meter = _Meter(decompressed(file), limits.unpacked)
    written: set[tuple[str, ...]] = set()
    # As a stream: no seeking back, which would unpack everything once more.
    with tarfile.open(
        fileobj=cast(IO[bytes], meter), mode="r|", encoding="utf-8", errors="surrogateescape"
    ) as archive:
        for member in _members(archive, meter, limits.entries):
            parts = member_parts(member.name)
            path = "/".join(parts)
            if not parts or member.isdir():
                continue
            if not member.isreg():
                admission.leave_out("links and special files in the archive", path)
                continue
            if not admission.admits(parts, member.size):
                continue
            if parts in written:
                copy.remove(parts)
                written.discard(parts)
                admission.leave_out("twice in the archive, the last one counts", path)
            if copy.write(parts, _chunks(archive, member)):
                written.add(parts)
            else:
                admission.leave_out("names that this machine cannot hold", path)
    return admission


def _members(archive: tarfile.TarFile, meter: _Meter, at_most: int) -> Iterator[tarfile.TarInfo]:
    """The members in order; what tarfile reads to find the next is bounded too."""
    body = 0
    for _ in range(at_most):
        meter.allow(body + _HEADERS_OF_ONE_MEMBER)
        member = archive.next()
        if member is None:
            return
        if member.issparse():
            raise Unreadable("the archive holds sparse files; make it anew with ordinary settings")
        if member.size < 0:
            raise Unreadable("the archive is damaged: a member of negative size")
        archive.members = []  # type: ignore[attr-defined]  # tarfile keeps them all otherwise
        body = member.size
        meter.allow(body + _HEADERS_OF_ONE_MEMBER)
        yield member
    raise Unreadable(f"the archive holds more than {at_most} files")


def _chunks(archive: tarfile.TarFile, member: tarfile.TarInfo) -> Iterator[bytes]:
    body = archive.extractfile(member)
    while body is not None and (chunk := body.read(CHUNK)):
        yield chunk


class _Meter:
    """Counts the bytes that are read through it, and stops at what was allowed."""

    def __init__(self, source: Readable, total: int) -> None:
        self._source = source
        self._total = total
        self._total_left = total
        self._allowed = _HEADERS_OF_ONE_MEMBER

    def allow(self, size: int) -> None:
        """Until the next call, no more than `size` bytes may be read."""
        self._allowed = size

    def read(self, size: int, /) -> bytes:
        data = self._source.read(size)
        self._total_left -= len(data)
        self._allowed -= len(data)
        if self._total_left < 0:
            raise Unreadable(
                f"the archive unpacks to more than {size_in_words(self._total)}; "
                "hand in the source code without data and environments"
            )
        if self._allowed < 0:
            raise Unreadable("the archive is damaged: the description of a member never ends")
        return data
