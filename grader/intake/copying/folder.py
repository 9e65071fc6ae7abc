"""Submissions that are folders: what of them would be copied, and the copying."""

from __future__ import annotations

import os
import stat
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Protocol

from grader.intake.copying.admission import Admission
from grader.intake.copying.limits import Limits, is_clutter_folder
from grader.intake.copying.regular_file import kind_in_words, read_chunks
from grader.submission import Unreadable

_NO_PERMISSION = "the grader may not read them"


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file of a submission: its place in the copy, where it lies now, and its size in bytes."""

    parts: tuple[str, ...]
    path: str
    size: int


class Copy(Protocol):
    """Where files are copied to: a folder, an archive."""

    def write(self, parts: Sequence[str], chunks: Iterable[bytes]) -> bool:
        """Write one file; False if its name cannot be used there."""
        ...

    def remove(self, parts: Sequence[str]) -> None:
        """Take out what there is of a file whose `chunks` raised."""
        ...


def survey(folder: Path, limits: Limits) -> tuple[list[SourceFile], Admission]:
    """The files of a folder that would be copied, small ones first; opens none of them.

    Raises Unreadable when the folder itself may not be read.
    """
    admission = Admission(limits)
    walk = _Walk(os.fspath(folder), limits, admission)
    files = sorted(walk.files(), key=lambda file: (file.size, file.parts))
    return [file for file in files if admission.admits(file.parts, file.size)], admission


def copy_folder(folder: Path, copy: Copy, limits: Limits) -> Admission:
    """Copy what `survey` lets in; files that turn out unreadable are left out."""
    files, admission = survey(folder, limits)
    for file in files:
        try:
            written = copy.write(file.parts, read_chunks(file.path, file.size))
        except OSError:
            copy.remove(file.parts)
            admission.leave_out(_NO_PERMISSION, "/".join(file.parts))
            continue
        if not written:
            admission.leave_out("names that this machine cannot hold", "/".join(file.parts))
    return admission


class _Walk:
    """A walk through a folder, level by level, that follows no link and opens no file."""

    def __init__(self, top: str, limits: Limits, admission: Admission) -> None:
        self._top = top
        self._limits = limits
        self._admission = admission
        self._entries_left = limits.entries
        self._real_top = os.path.realpath(top)

    def files(self) -> Iterator[SourceFile]:
        folders: deque[tuple[tuple[str, ...], str]] = deque([((), self._top)])
        while folders:
            parts, path = folders.popleft()
            entries = self._list(parts, path)
            if parts and any(entry.name == "pyvenv.cfg" for entry in entries):
                continue
            for entry in entries:
                place = (*parts, entry.name)
                if entry.is_dir(follow_symlinks=False):
                    if not is_clutter_folder(entry.name):
                        folders.append((place, entry.path))
                elif (file := self._file(place, entry)) is not None:
                    yield file

    def _list(self, parts: tuple[str, ...], path: str) -> list[os.DirEntry[str]]:
        """The entries of a folder in order; past the limits, none."""
        place = "/".join(parts)
        if len(parts) >= self._limits.depth:
            self._admission.leave_out(f"more than {self._limits.depth} folders deep", f"{place}/")
            return []
        try:
            with os.scandir(path) as scan:
                entries = list(islice(scan, self._entries_left))
                if next(scan, None) is not None:
                    reason = f"beyond the first {self._limits.entries} files"
                    self._admission.leave_out(reason, f"the rest of {place or 'the folder'}")
        except OSError as error:
            if not parts:
                raise Unreadable(f"the folder cannot be read: {error.strerror}") from error
            self._admission.leave_out(_NO_PERMISSION, f"{place}/")
            return []
        self._entries_left -= len(entries)
        return sorted(entries, key=lambda entry: entry.name)

    def _file(self, parts: tuple[str, ...], entry: os.DirEntry[str]) -> SourceFile | None:
        """The regular file that an entry is or, inside the folder, points at."""
        path = entry.path
        try:
            status = entry.stat(follow_symlinks=False)
            if stat.S_ISLNK(status.st_mode):
                path = os.path.realpath(path)
                inside = path.startswith(self._real_top + os.sep)
                if not inside or not stat.S_ISREG(os.lstat(path).st_mode):
                    self._admission.leave_out("links to folders or out of it", "/".join(parts))
                    return None
                status = os.lstat(path)
        except OSError:
            self._admission.leave_out(_NO_PERMISSION, "/".join(parts))
            return None
        if not stat.S_ISREG(status.st_mode):
            kind = kind_in_words(status.st_mode)
            self._admission.leave_out("neither files nor folders", f"{'/'.join(parts)} ({kind})")
            return None
        return SourceFile(parts, path, status.st_size)
