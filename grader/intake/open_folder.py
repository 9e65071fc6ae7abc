"""Safe opening of files and folders with hostile names: no link, nothing that blocks.

A path is opened name by name, each within the folder before it and never through a link. A link
that replaces a folder while it is read therefore leads nowhere.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, BinaryIO, Self

CHUNK = 1 << 18
_READING = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_BY_DESCRIPTOR = Path("/proc/self/fd")
# Looks a file up without opening it (Linux).
_LOOK_UP = getattr(os, "O_PATH", 0) if _BY_DESCRIPTOR.is_dir() else 0


def _open_regular(path: str | os.PathLike[str], within: int | None) -> int:
    """Opens a regular file; the opened file is the checked one, even if names change meanwhile.

    Devices are refused before they are opened, because opening alone makes some of them act.
    """
    if not _LOOK_UP:
        _must_be_regular(os.stat(path, dir_fd=within, follow_symlinks=False))
        descriptor = os.open(path, _READING | os.O_NOFOLLOW, dir_fd=within)
        try:
            _must_be_regular(os.fstat(descriptor))
        except OSError:
            os.close(descriptor)
            raise
        return descriptor
    place = os.open(path, _LOOK_UP | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=within)
    try:
        _must_be_regular(os.fstat(place))
        return os.open(f"{_BY_DESCRIPTOR}/{place}", _READING)
    finally:
        os.close(place)


def open_file(path: str | os.PathLike[str], within: int | None = None) -> BinaryIO:
    """Returns a regular file, open for reading; raises OSError for anything else.

    `within` is the descriptor of the folder where the path begins.
    """
    return os.fdopen(_open_regular(path, within), "rb")


def chunks(file: IO[bytes], at_most: int) -> Iterator[bytes]:
    """Yields the next bytes of a file up to a bound, piece by piece."""
    while at_most > 0 and (chunk := file.read(min(CHUNK, at_most))):
        at_most -= len(chunk)
        yield chunk


def read_bounded(path: str | os.PathLike[str], at_most: int) -> bytes:
    """Returns the first `at_most` bytes of a regular file; raises OSError as `open_file`."""
    with open_file(path) as file:
        return b"".join(chunks(file, at_most))


def is_file_at(path: Path) -> bool:
    """Returns whether a path leads to a file, also if its folder may not be searched."""
    try:
        return path.is_file()
    except (OSError, ValueError):  # also for a longer name than a file can have
        return False


def is_folder_at(path: Path) -> bool:
    """Returns whether a path leads to a folder, also if it may not be looked up."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def kind_in_words(mode: int) -> str:
    """Returns the kind of a file of this mode in words, with an article."""
    kinds = {
        stat.S_IFLNK: "a link",
        stat.S_IFIFO: "a FIFO",
        stat.S_IFSOCK: "a socket",
        stat.S_IFBLK: "a device",
        stat.S_IFCHR: "a device",
        stat.S_IFDIR: "a folder",
    }
    return kinds.get(stat.S_IFMT(mode), "a file")


def _must_be_regular(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "not a regular file")


_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_DEEPEST = 64  # folders; each keeps a descriptor open while a folder below it is read

Parts = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FolderItem:
    """An item of a folder: its name, its mode (0 if unknown) and its size in bytes."""

    name: str
    mode: int
    size: int

    @property
    def is_folder(self) -> bool:
        """Returns whether the item is a folder, and not a link to one."""
        return stat.S_ISDIR(self.mode)

    @property
    def is_file(self) -> bool:
        """Returns whether the item is a regular file, and not a link to one."""
        return stat.S_ISREG(self.mode)

    @property
    def is_link(self) -> bool:
        """Returns whether the item is a link to any place."""
        return stat.S_ISLNK(self.mode)


class OpenFolder:
    """A folder that stays open while the context lasts; raises OSError if `path` is not a folder.

    `within` is the descriptor of the folder where the path begins. Methods take a place inside the
    folder as a tuple of names, and raise OSError if it holds nothing of the expected kind.
    """

    def __init__(self, path: str | os.PathLike[str], within: int | None = None) -> None:
        self._top = os.open(path, _FOLDER, dir_fd=within)
        # The names down to the folder that was used last.
        self._names: list[str] = []
        self._descriptors = [self._top]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for descriptor in self._descriptors:
            os.close(descriptor)
        self._descriptors.clear()

    def listed(self, place: Parts = (), at_most: int | None = None) -> list[FolderItem]:
        """Returns the items of a folder in the system's order, at most `at_most` of them."""
        with os.scandir(self._at(place)) as entries:
            return [_item(entry) for entry in islice(entries, at_most)]

    def item(self, place: Parts) -> FolderItem:
        """Returns the item at a place."""
        *above, name = place
        status = os.stat(name, dir_fd=self._at(tuple(above)), follow_symlinks=False)
        return FolderItem(name, status.st_mode, status.st_size)

    def open_file(self, place: Parts) -> BinaryIO:
        """Returns a regular file, open for reading."""
        *above, name = place
        return open_file(name, self._at(tuple(above)))

    def folder(self, place: Parts) -> OpenFolder:
        """Returns a folder inside this one, opened on its own."""
        return OpenFolder(".", self._at(place))

    def _at(self, place: Parts) -> int:
        """Returns the descriptor of a folder, which is open until the next one is used."""
        if len(place) > _DEEPEST:
            raise OSError(errno.ENAMETOOLONG, f"more than {_DEEPEST} folders deep")
        common = 0
        while common < min(len(place), len(self._names)) and place[common] == self._names[common]:
            common += 1
        del self._names[common:]
        while len(self._descriptors) > common + 1:
            os.close(self._descriptors.pop())
        for name in place[common:]:
            self._descriptors.append(os.open(name, _FOLDER, dir_fd=self._descriptors[-1]))
            self._names.append(name)
        return self._descriptors[-1]


def _item(entry: os.DirEntry[str]) -> FolderItem:
    try:
        if entry.is_dir(follow_symlinks=False):
            return FolderItem(entry.name, stat.S_IFDIR, 0)
        status = entry.stat(follow_symlinks=False)
    except OSError:
        return FolderItem(entry.name, 0, 0)
    return FolderItem(entry.name, status.st_mode, status.st_size)
