"""Submissions that are folders: the files that limits admit, and their private copy.

A copy holds new files only, with modes of its own.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Protocol

from grader.core.files import refusing
from grader.core.names import several
from grader.core.submission import Unreadable
from grader.intake.limits import (
    CopyLimits,
    FileKind,
    is_clutter,
    is_clutter_folder,
    kind_of,
    size_in_words,
)
from grader.intake.open_folder import FolderItem, OpenFolder, Parts, chunks, kind_in_words

# Why something is not copied, in a note.
IMPOSSIBLE_NAME = "names that this machine cannot hold"
_NO_PERMISSION = "the grader may not read them"
_SHOWN = 5
_LONGEST_NAME = 255  # bytes, on every file system in use
DRIVE = re.compile(r"[A-Za-z]:")


class Admission:
    """The counts of admitted files, checked against the limits, and the reasons for the others.

    A file is admitted with its declared size; do not copy more bytes than that.
    """

    def __init__(self, limits: CopyLimits) -> None:
        self._limits = limits
        self._files: Counter[FileKind] = Counter()
        self._bytes: Counter[FileKind] = Counter()
        self._folders: set[tuple[str, ...]] = {()}
        self._left_out: dict[str, list[str]] = {}
        self._how_many: Counter[str] = Counter()

    def admits(self, parts: Sequence[str], size: int) -> bool:
        """Counts a file if the limits admit it, else notes why not; returns whether to copy it.

        Clutter is left out without a note.
        """
        if is_clutter(parts):
            return False
        path = "/".join(parts)
        kind = kind_of(path)
        allowance = self._limits.allowance(kind)
        if len(parts) > self._limits.depth:
            self.leave_out(f"more than {self._limits.depth} folders deep", path)
        elif not _can_be_named(parts):
            self.leave_out(IMPOSSIBLE_NAME, path)
        elif "\\" in path or DRIVE.match(path):
            # They lead elsewhere in archives, and so on the machines of a cluster.
            self.leave_out("names with a backslash or a drive", path)
        elif len(path.splitlines()) > 1 or path.endswith(("\n", "\r")):
            # In a message, the rest of such a name would look like a line of the grader's.
            self.leave_out("names with line breaks", path)
        elif size > allowance.bytes_each:
            reason = f"larger than {size_in_words(allowance.bytes_each)}"
            self.leave_out(reason, f"{path} ({size_in_words(size)})")
        elif self._bytes[kind] + size > allowance.bytes_total:
            self.leave_out(f"beyond {size_in_words(allowance.bytes_total)} in all", path)
        elif self._files[kind] >= allowance.files:
            self.leave_out(f"beyond the first {allowance.files} files", path)
        elif len(self._folders) + len(folders := self._new_folders(parts)) > self._limits.folders:
            self.leave_out(f"beyond the first {self._limits.folders} folders", path)
        else:
            self._folders.update(folders)
            self._files[kind] += 1
            self._bytes[kind] += size
            return True
        return False

    def _new_folders(self, parts: Sequence[str]) -> list[tuple[str, ...]]:
        """Returns the folders above a file that hold no admitted file yet."""
        above = (tuple(parts[:depth]) for depth in range(len(parts) - 1, 0, -1))
        return list(takewhile(lambda folder: folder not in self._folders, above))

    def leave_out(self, reason: str, path: str) -> None:
        """Remembers that `path` is not copied."""
        self._how_many[reason] += 1
        names = self._left_out.setdefault(reason, [])
        if len(names) < _SHOWN:
            names.append(path)

    def notes(self) -> tuple[str, ...]:
        """Returns one sentence for each reason why something was left out."""
        return tuple(
            f"Left out ({reason}): {several(names, self._how_many[reason])}."
            for reason, names in self._left_out.items()
        )


def _can_be_named(parts: Sequence[str]) -> bool:
    try:
        encoded = [os.fsencode(part) for part in parts]
    except UnicodeEncodeError:
        return False
    return all(len(name) <= _LONGEST_NAME and b"\0" not in name for name in encoded)


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file of a submission: its path in the copy, its place now, and its size in bytes.

    `place` is relative to the surveyed folder.
    """

    parts: Parts
    place: Parts
    size: int


class Copy(Protocol):
    """The destination of copied files: a folder or an archive."""

    def write(self, parts: Sequence[str], chunks: Iterable[bytes]) -> bool:
        """Writes one file; returns False if its name cannot be used there."""
        ...

    def remove(self, parts: Sequence[str]) -> None:
        """Removes the written part of a file whose `chunks` raised."""
        ...


def survey(folder: OpenFolder, limits: CopyLimits) -> tuple[list[SourceFile], Admission]:
    """Returns the files of a folder that would be copied, small ones first; opens none of them.

    Raises:
        Unreadable: if the folder itself may not be read.
    """
    admission = Admission(limits)
    files = sorted(_files(folder, limits, admission), key=lambda file: (file.size, file.parts))
    return [file for file in files if admission.admits(file.parts, file.size)], admission


def content(folder: OpenFolder, file: SourceFile) -> Iterator[bytes]:
    """Yields the bytes of a file, no more than it had when it was surveyed.

    Raises:
        OSError: if it is gone.
    """
    with folder.open_file(file.place) as opened:
        yield from chunks(opened, file.size)


def copy_folder(folder: OpenFolder, copy: Copy, limits: CopyLimits) -> Admission:
    """Copies the files that `survey` admits, but leaves out unreadable ones.

    Raises:
        Unreadable: if the folder itself may not be read.
        CopyFailed: if the machine fails to read or write.
    """
    files, admission = survey(folder, limits)
    for file in files:
        try:
            with reading("a file cannot be read"):
                written = copy.write(file.parts, content(folder, file))
        except Unreadable:
            copy.remove(file.parts)
            admission.leave_out(_NO_PERMISSION, "/".join(file.parts))
            continue
        if not written:
            admission.leave_out(IMPOSSIBLE_NAME, "/".join(file.parts))
    return admission


def _files(folder: OpenFolder, limits: CopyLimits, admission: Admission) -> Iterator[SourceFile]:
    """Yields the files of a folder, level by level, and opens none of them."""
    folders: deque[Parts] = deque([()])
    left = limits.entries
    while folders:
        parts = folders.popleft()
        items = _items(folder, parts, limits, left, admission)
        left -= len(items)
        if parts and any(item.name == "pyvenv.cfg" for item in items):
            continue
        for item in items:
            place = (*parts, item.name)
            if item.is_folder:
                if not is_clutter_folder(item.name):
                    folders.append(place)
            elif item.mode == 0:
                admission.leave_out(_NO_PERMISSION, "/".join(place))
            elif item.is_file:
                yield SourceFile(place, place, item.size)
            else:
                named = f"{'/'.join(place)} ({kind_in_words(item.mode)})"
                admission.leave_out("links and special files", named)


def _items(
    folder: OpenFolder, parts: Parts, limits: CopyLimits, left: int, admission: Admission
) -> list[FolderItem]:
    """Returns the items of a folder inside, in order, at most `left` of them."""
    place = "/".join(parts)
    if len(parts) >= limits.depth:
        admission.leave_out(f"more than {limits.depth} folders deep", f"{place}/")
        return []
    try:
        with reading("the folder cannot be read"):
            items = folder.listed(parts, left + 1)
    except Unreadable:
        if not parts:
            raise
        admission.leave_out(_NO_PERMISSION, f"{place}/")
        return []
    if len(items) > left:
        reason = f"beyond the first {limits.entries} files"
        admission.leave_out(reason, f"the rest of {place or 'the folder'}")
    return sorted(items[:left], key=lambda item: item.name)


_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER_MODE = 0o755
_FILE_MODE = 0o644
# The errors that a submission's names can cause; others are the machine's fault.
_NAME_ERRORS = {errno.ENAMETOOLONG, errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.EILSEQ}


# The errors that no submission can cause.
_MACHINE_ERRORS = {
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EROFS,
    errno.EIO,
    errno.EMFILE,
    errno.ENFILE,
    errno.ENOMEM,
    errno.EAGAIN,
    errno.ESTALE,
    errno.ETIMEDOUT,
}


class CopyFailed(Exception):
    """The grader could not write its copy (a full disk, say): no submission is at fault."""


def is_of_the_machine(problem: BaseException | None) -> bool:
    """Returns whether this machine, and not a submission, caused an exception."""
    return isinstance(problem, OSError) and problem.errno in _MACHINE_ERRORS


@contextlib.contextmanager
def reading(said: str) -> Iterator[None]:
    """Turns an OSError inside into Unreadable, or CopyFailed if the machine is at fault."""
    try:
        yield
    except OSError as error:
        kind = CopyFailed if is_of_the_machine(error) else Unreadable
        raise kind(f"{said}: {error.strerror}") from error


class PrivateCopy:
    """The folder that a submission is copied into."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made: set[tuple[str, ...]] = set()
        self._make_folder(())

    def write(self, parts: Sequence[str], chunks: Iterable[bytes]) -> bool:
        """Writes one file; returns False if its name cannot be used here.

        Exceptions from `chunks` pass through.

        Raises:
            CopyFailed: if the machine refuses to write.
        """
        try:
            descriptor = self._open(tuple(parts))
        except OSError as error:
            if error.errno in _NAME_ERRORS:
                return False
            raise CopyFailed(f"cannot write the private copy: {error.strerror}") from error
        try:
            for chunk in chunks:
                _write_all(descriptor, chunk)
        finally:
            os.close(descriptor)
        return True

    def remove(self, parts: Sequence[str]) -> None:
        """Removes one file again."""
        self._folder.joinpath(*parts).unlink()

    def _open(self, parts: tuple[str, ...]) -> int:
        self._make_folder(parts[:-1])
        descriptor = os.open(self._folder.joinpath(*parts), _NEW_FILE, _FILE_MODE)
        os.fchmod(descriptor, _FILE_MODE)  # despite the umask
        return descriptor

    def _make_folder(self, parts: tuple[str, ...]) -> None:
        if parts in self._made:
            return
        if parts:
            self._make_folder(parts[:-1])
        path = self._folder.joinpath(*parts)
        path.mkdir()
        path.chmod(_FOLDER_MODE)  # despite the umask
        self._made.add(parts)


def _write_all(descriptor: int, chunk: bytes) -> None:
    view = memoryview(chunk)
    with refusing(CopyFailed, "cannot write the private copy"):
        while view:
            view = view[os.write(descriptor, view) :]
