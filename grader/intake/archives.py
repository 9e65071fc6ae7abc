"""Submissions that are archives: finding out their kind, and unpacking tar and zip.

No size or name in an archive is trusted. `tarfile` itself would decompress ten kilobytes of bzip2
in one go, which can be gigabytes. The bounds of the intake process hold the dictionary of xz, and a
file of a million empty streams.
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import itertools
import lzma
import os
import stat
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from typing import IO, Any, BinaryIO, cast

from grader.core.names import shortened
from grader.core.submission import Unreadable
from grader.intake.copying import (
    DRIVE,
    IMPOSSIBLE_NAME,
    Admission,
    CopyFailed,
    PrivateCopy,
    is_of_the_machine,
)
from grader.intake.limits import MIB, CopyLimits, size_in_words
from grader.intake.open_folder import CHUNK, chunks


def slashed(name: str) -> str:
    """Returns a member's name with slashes in place of the backslashes of Windows."""
    return name.replace("\\", "/")


def member_parts(name: str) -> tuple[str, ...]:
    """Returns the folders and the file in a member's name; empty for the archive's own top.

    Backslashes also separate folders, as in zips made on Windows.

    Raises:
        Unreadable: if the name leads out of the archive.
    """
    path = slashed(name)
    parts = tuple(part for part in path.split("/") if part not in ("", "."))
    if path.startswith("/") or ".." in parts or (parts and DRIVE.fullmatch(parts[0])):
        raise Unreadable(
            f"the archive has a member that leads out of it, {shortened(name)}; "
            "make it again from inside the folder"
        )
    return parts


_Reader = BinaryIO | io.BufferedIOBase


def decompressed(file: BinaryIO) -> _Reader:
    """Returns the file's bytes, unpacked if its beginning says that they are compressed.

    Reading raises EOFError if the file is cut off, and zlib.error, OSError or LZMAError if it is
    damaged.
    """
    beginning = file.read(6)
    file.seek(0)
    if beginning.startswith(b"\x1f\x8b"):
        return gzip.GzipFile(fileobj=file)
    if beginning.startswith(b"BZh"):
        return bz2.BZ2File(file)
    if beginning.startswith(b"\xfd7zXZ"):
        return lzma.LZMAFile(file)
    return file


_HEADERS_OF_ONE_MEMBER = MIB


def unpack_tar(file: BinaryIO, copy: PrivateCopy, limits: CopyLimits) -> Admission:
    """Unpacks the admitted files of a tar, plain or compressed, up to the limits.

    Raises:
        Unreadable: as `unpack` does.
        Exception: of any type, from `tarfile` and the decompressors, for a damaged archive.
    """
    admission = Admission(limits)
    meter = _Meter(decompressed(file), limits.unpacked)
    written: set[tuple[str, ...]] = set()
    # As a stream, because seeking back would unpack everything again.
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
            body = archive.extractfile(member)
            if body is not None and copy.write(parts, chunks(body, member.size)):
                written.add(parts)
            else:
                admission.leave_out(IMPOSSIBLE_NAME, path)
    return admission


def _members(archive: tarfile.TarFile, meter: _Meter, at_most: int) -> Iterator[tarfile.TarInfo]:
    """Yields the members in order, and bounds the bytes that tarfile reads to find the next."""
    body = 0
    for number in itertools.count():
        meter.allow(body + _HEADERS_OF_ONE_MEMBER)
        member = archive.next()
        if member is None:
            return
        if number == at_most:
            raise Unreadable(f"the archive holds more than {at_most} files")
        if member.issparse():
            raise Unreadable("the archive holds sparse files; make it again with ordinary settings")
        if member.size < 0:
            raise Unreadable("the archive is damaged: a member of negative size")
        archive.members = []  # type: ignore[attr-defined]  # tarfile keeps them all otherwise
        body = member.size
        meter.allow(body + _HEADERS_OF_ONE_MEMBER)
        yield member


class _Meter:
    """A reader that counts bytes, and raises Unreadable when too many are read."""

    def __init__(self, source: _Reader, total: int) -> None:
        self._source = source
        self._total = total
        self._total_left = total
        self._allowed = _HEADERS_OF_ONE_MEMBER

    def allow(self, size: int) -> None:
        """Allows no more than `size` bytes to be read until the next call."""
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


# The decompressors of other methods do not bound the output of one piece of input.
_BOUNDED_METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
_ENCRYPTED = 0x1
_NAME_IS_UTF8 = 0x800
_MADE_ON_UNIX = 3
_BYTES_PER_ENTRY = 128  # of the table of contents, which is read as a whole

Place = Callable[[str], str | None]


def opened_zip(file: BinaryIO, entries: int) -> zipfile.ZipFile:
    """Returns a zip whose table of contents has been read.

    Raises:
        Unreadable: if it holds more than `entries` members.
        Exception: of any type, from `zipfile`, for a damaged zip.
    """
    bounded = _BoundedReads(file, entries * _BYTES_PER_ENTRY)
    archive = zipfile.ZipFile(cast(IO[bytes], bounded))
    if len(archive.infolist()) > entries:
        raise Unreadable(f"the archive holds more than {entries} files")
    return archive


def unpack_zip(
    file: BinaryIO, copy: PrivateCopy, limits: CopyLimits, place: Place = str
) -> Admission:
    """Unpacks the admitted files of a zip, small ones first, each up to its declared size.

    `place` returns a member's path in the copy from its name, or None to leave it out.

    Raises:
        Unreadable: as `unpack` does.
        Exception: of any type, from `zipfile`, for a damaged zip.
    """
    admission = Admission(limits)
    with opened_zip(file, limits.entries) as archive:
        members = _files(archive.infolist(), place, admission)
        by_size = sorted(members.items(), key=lambda item: (item[1].file_size, item[0]))
        for parts, info in by_size:
            if not admission.admits(parts, info.file_size):
                continue
            check_readable(info)
            with archive.open(info) as member:
                is_written = copy.write(parts, chunks(member, info.file_size))
            if not is_written:
                admission.leave_out(IMPOSSIBLE_NAME, "/".join(parts))
    return admission


class _BoundedReads:
    """A file that raises Unreadable instead of returning more than `at_most` bytes at once."""

    def __init__(self, file: BinaryIO, at_most: int) -> None:
        self._file = file
        self._at_most = max(at_most, 2 * CHUNK)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def read(self, size: int = -1, /) -> bytes:
        wanted = self._at_most + 1 if size < 0 else size
        data = self._file.read(min(wanted, self._at_most + 1))
        if len(data) > self._at_most:
            raise Unreadable("the archive holds too many files")
        return data


def _files(
    infos: list[zipfile.ZipInfo], place: Place, admission: Admission
) -> dict[tuple[str, ...], zipfile.ZipInfo]:
    """Returns the file members by their path in the copy; the last one with a path counts."""
    files: dict[tuple[str, ...], zipfile.ZipInfo] = {}
    for info in infos:
        name = place(member_name(info))
        if name is None:
            continue
        parts = member_parts(name)
        if not parts or name.endswith(("/", "\\")):
            continue
        kind = stat.S_IFMT(info.external_attr >> 16)
        if info.create_system == _MADE_ON_UNIX and kind not in (0, stat.S_IFREG, stat.S_IFDIR):
            admission.leave_out("links and special files in the archive", "/".join(parts))
            continue
        if parts in files:
            admission.leave_out("twice in the archive, the last one counts", "/".join(parts))
        files[parts] = info
    return files


def member_name(info: zipfile.ZipInfo) -> str:
    """Returns a member's name, in UTF-8 if possible: many programs write it without the flag."""
    if info.flag_bits & _NAME_IS_UTF8:
        return info.filename
    try:
        return info.filename.encode("cp437").decode("utf-8")
    except UnicodeError:
        return info.filename


def check_readable(info: zipfile.ZipInfo) -> None:
    """Raises Unreadable if a member cannot be read in bounded memory, or not at all."""
    if info.flag_bits & _ENCRYPTED:
        raise Unreadable("the zip is encrypted; hand it in without a password")
    if info.compress_type not in _BOUNDED_METHODS:
        raise Unreadable(
            f"{shortened(info.filename)} in the zip is compressed in an unusual way; "
            "make the zip with ordinary settings"
        )


READABLE = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz")
# The others are recognised as submissions, so that each gets a row that says what to do.
ARCHIVES = (*READABLE, ".rar", ".7z", ".tar.zst", ".zst", ".gz", ".bz2", ".xz")
_FOREIGN_BEGINNINGS = {
    b"Rar!": "a RAR archive",
    b"7z\xbc\xaf": "a 7-Zip archive",
    b"\x28\xb5\x2f\xfd": "compressed with Zstandard",
}


def unpack(file: BinaryIO, copy: PrivateCopy, limits: CopyLimits) -> Admission:
    """Unpacks an archive into a private copy; its first bytes decide its kind, not its name.

    Raises:
        Unreadable: if it is not an archive, is damaged, encrypted or too large when unpacked.
            Also if a member leads out of the archive.
        CopyFailed: if the copy could not be written.
    """
    if os.fstat(file.fileno()).st_size > limits.archive:
        raise Unreadable(f"the archive is larger than {size_in_words(limits.archive)}")
    beginning = file.read(4)
    file.seek(0)
    for signature, kind in _FOREIGN_BEGINNINGS.items():
        if beginning == signature:
            raise Unreadable(f"the archive is {kind}; hand in a folder, a zip or a tar")
    if not beginning:
        raise Unreadable("the archive is an empty file")
    with archive_errors():
        if beginning[:2] == b"PK":
            return unpack_zip(file, copy, limits)
        return unpack_tar(file, copy, limits)


@contextlib.contextmanager
def archive_errors() -> Iterator[None]:
    """Raises every error of the standard library on a damaged archive as Unreadable.

    An error of the machine becomes CopyFailed, also where the standard library hides it.
    """
    try:
        yield
    except (Unreadable, CopyFailed, MemoryError):
        raise
    except Exception as error:  # its parsers raise exceptions of every type
        if is_of_the_machine(error) or is_of_the_machine(error.__context__):
            raise CopyFailed("the archive cannot be read, by the machine's fault") from error
        reason = shortened(str(error)) or type(error).__name__
        raise Unreadable(f"the archive is damaged or no zip or tar: {reason}") from error
