"""Writes the private copy of a submission: new files only, with modes of their own."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER_MODE = 0o755
_FILE_MODE = 0o644
# What a submission's own names can bring about; everything else is the machine's doing.
_NAME_ERRORS = {errno.ENAMETOOLONG, errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.EILSEQ}


# What no submission can bring about, whatever it holds.
_MACHINE_ERRORS = {
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EROFS,
    errno.EIO,
    errno.EMFILE,
    errno.ENFILE,
    errno.ENOMEM,
}


class CopyFailed(Exception):
    """The grader could not write its copy (a full disk, say): no submission is at fault."""


def is_of_the_machine(problem: BaseException) -> bool:
    """Returns whether something went wrong because of this machine, whatever was handed in."""
    return isinstance(problem, OSError) and problem.errno in _MACHINE_ERRORS


class PrivateCopy:
    """The folder that a submission is copied into."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made: set[tuple[str, ...]] = set()
        self._make_folder(())

    def write(self, parts: Sequence[str], chunks: Iterable[bytes]) -> bool:
        """Writes one file; False if its name cannot be used here.

        Whatever `chunks` raises passes through; CopyFailed when the machine refuses to write.
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
        """Takes one file out again."""
        self._folder.joinpath(*parts).unlink()

    def _open(self, parts: tuple[str, ...]) -> int:
        self._make_folder(parts[:-1])
        descriptor = os.open(self._folder.joinpath(*parts), _NEW_FILE, _FILE_MODE)
        os.fchmod(descriptor, _FILE_MODE)  # whatever the umask
        return descriptor

    def _make_folder(self, parts: tuple[str, ...]) -> None:
        if parts in self._made:
            return
        if parts:
            self._make_folder(parts[:-1])
        path = self._folder.joinpath(*parts)
        path.mkdir()
        path.chmod(_FOLDER_MODE)  # whatever the umask
        self._made.add(parts)


def _write_all(descriptor: int, chunk: bytes) -> None:
    view = memoryview(chunk)
    while view:
        try:
            written = os.write(descriptor, view)
        except OSError as error:
            raise CopyFailed(f"cannot write the private copy: {error.strerror}") from error
        view = view[written:]
