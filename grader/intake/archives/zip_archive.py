"""Unpacking a zip, believing nothing that it says of itself."""

from __future__ import annotations

import io
import stat
import zipfile
from collections.abc import Callable, Iterator
from typing import BinaryIO

from grader.core.submission import Unreadable
from grader.intake.archives.member import member_parts
from grader.intake.copying.admission import Admission
from grader.intake.copying.limits import CopyLimits
from grader.intake.copying.private_copy import PrivateCopy
from grader.intake.copying.regular_file import CHUNK
from grader.intake.naming import shortened

# The others' decompressors know no bound on what one piece of input may unpack to.
_BOUNDED_METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
_ENCRYPTED = 0x1
_NAME_IS_UTF8 = 0x800
_MADE_ON_UNIX = 3
_BYTES_PER_ENTRY = 128  # of the table of contents, which is read as a whole

Place = Callable[[str], str | None]


def opened_zip(file: BinaryIO, entries: int) -> zipfile.ZipFile:
    """A zip whose table of contents has been read.

    Raises Unreadable when it holds more than so many entries, and whatever `zipfile` raises for
    damaged ones.
    """
    archive = zipfile.ZipFile(_BoundedReads(file, entries * _BYTES_PER_ENTRY))
    if len(archive.infolist()) > entries:
        raise Unreadable(f"the archive holds more than {entries} files")
    return archive


def unpack_zip(
    file: BinaryIO, copy: PrivateCopy, limits: CopyLimits, place: Place = str
) -> Admission:
    """Unpack what is wanted of a zip, small files first, never more than each claims to hold.

    `place` says where a member goes, by its name; None for what is not wanted. Raises Unreadable
    as `grader.intake.archives.archive.unpack` does, and whatever `zipfile` raises for damaged ones.
    """
    admission = Admission(limits)
    with opened_zip(file, limits.entries) as archive:
        members = _files(archive.infolist(), place, admission)
        by_size = sorted(members.items(), key=lambda item: (item[1].file_size, item[0]))
        for parts, info in by_size:
            if not admission.admits(parts, info.file_size):
                continue
            check_readable(info)
            if not copy.write(parts, _member_chunks(archive, info)):
                admission.leave_out("names that this machine cannot hold", "/".join(parts))
    return admission


class _BoundedReads(io.BufferedIOBase):
    """A file that refuses to hand out more than so many bytes at once."""

    def __init__(self, file: BinaryIO, at_most: int) -> None:
        self._file = file
        self._at_most = max(at_most, 2 * CHUNK)

    def read(self, size: int | None = -1, /) -> bytes:
        wanted = self._at_most + 1 if size is None or size < 0 else size
        data = self._file.read(min(wanted, self._at_most + 1))
        if len(data) > self._at_most:
            raise Unreadable("the archive holds too many files")
        return data

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True


def _files(
    infos: list[zipfile.ZipInfo], place: Place, admission: Admission
) -> dict[tuple[str, ...], zipfile.ZipInfo]:
    """The members that are files, by where they go; of two for one place the last."""
    files: dict[tuple[str, ...], zipfile.ZipInfo] = {}
    for info in infos:
        name = place(member_name(info))
        if name is None:
            continue
        parts = member_parts(name)
        if not parts or name.endswith(("/", "\\")):
            continue
        if info.create_system == _MADE_ON_UNIX and _is_special(info.external_attr >> 16):
            admission.leave_out("links and special files in the archive", "/".join(parts))
            continue
        if parts in files:
            admission.leave_out("twice in the archive, the last one counts", "/".join(parts))
        files[parts] = info
    return files


def member_name(info: zipfile.ZipInfo) -> str:
    """The member's name; many programs write UTF-8 and forget to say so."""
    if info.flag_bits & _NAME_IS_UTF8:
        return info.filename
    try:
        return info.filename.encode("cp437").decode("utf-8")
    except UnicodeError:
        return info.filename


def _is_special(mode: int) -> bool:
    return stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR)


def check_readable(info: zipfile.ZipInfo) -> None:
    """Raises Unreadable when a member cannot be read in bounded memory, or not at all."""
    if info.flag_bits & _ENCRYPTED:
        raise Unreadable("the zip is encrypted; hand it in without a password")
    if info.compress_type not in _BOUNDED_METHODS:
        raise Unreadable(
            f"{shortened(info.filename)} in the zip is compressed in an unusual way; "
            "make the zip with ordinary settings"
        )


def _member_chunks(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[bytes]:
    with archive.open(info) as member:
        while chunk := member.read(CHUNK):
            yield chunk
