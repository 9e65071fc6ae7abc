"""A platform's download as its recognisers see it: names at the top, be it a folder or a zip."""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Iterator, Set
from dataclasses import dataclass
from pathlib import Path

from grader.core.submission import Unreadable
from grader.intake.archives.archive import FOREIGN, READABLE
from grader.intake.archives.member import slashed
from grader.intake.archives.zip_archive import check_readable, member_name, opened_zip
from grader.intake.copying.limits import CODE, DOWNLOAD_LIMITS, is_clutter, is_clutter_folder
from grader.intake.copying.regular_file import open_file, read_bounded

# What `zipfile` and the decompressors raise of what is no zip, damaged or encrypted.
_DAMAGED = (zipfile.BadZipFile, zlib.error, RuntimeError, ValueError, EOFError)
_SUBMISSIONS = (*CODE, *READABLE, *FOREIGN)


@dataclass(frozen=True, slots=True)
class DownloadItem:
    """A file or folder at the top of a download; `has_git` where it is a checkout."""

    name: str
    is_folder: bool
    has_git: bool = False


@dataclass(frozen=True, slots=True)
class Download:
    """A folder, or the folder `top` of a zip, and what lies in it: no clutter, and no links."""

    path: Path
    items: tuple[DownloadItem, ...]
    top: str = ""

    @property
    def is_zip(self) -> bool:
        """Whether it is still zipped."""
        return not self.path.is_dir()

    def consists_of(self, known: Set[DownloadItem]) -> bool:
        """Whether these are most of its folders, archives and code: other files say nothing."""
        rivals = [
            item
            for item in self.items
            if item not in known and (item.is_folder or item.name.lower().endswith(_SUBMISSIONS))
        ]
        return len(known) > len(rivals)

    def place(self, item: DownloadItem) -> str:
        """The path of an item inside `path`."""
        return f"{self.top}{item.name}"

    def read(self, item: DownloadItem, at_most: int) -> bytes:
        """The first `at_most` bytes of a file of the download.

        Raises:
            OSError, Unreadable: if it cannot be read.
        """
        if not self.is_zip:
            return read_bounded(self.path / item.name, at_most)
        with (
            open_file(self.path) as file,
            opened_zip(file, DOWNLOAD_LIMITS.entries) as archive,
        ):
            infos = {slashed(member_name(info)): info for info in archive.infolist()}
            info = infos[self.place(item)]
            check_readable(info)
            try:
                with archive.open(info) as member:
                    return member.read(at_most)
            except _DAMAGED as error:
                raise Unreadable(f"it cannot be unpacked: {error}") from error


def downloads_at(path: Path) -> Iterator[Download]:
    """What may be a download at a path that was given: it itself, or the folder that a zip holds.

    Never what lies in a folder that was given: that is somebody's submission, who may have called
    it as they liked.
    """
    download = _opened(path)
    if download is None:
        return
    yield download
    if download.is_zip and len(download.items) == 1:
        yield from _inside_a_zip(download, *download.items)


def _opened(path: Path) -> Download | None:
    if path.is_dir():
        return _folder(path.resolve())
    return _zip(path.resolve()) if path.suffix.lower() == ".zip" else None


def _inside_a_zip(download: Download, only: DownloadItem) -> Iterator[Download]:
    inner = _zip(download.path, f"{only.name}/") if only.is_folder else None
    if inner is not None:
        yield inner


def _folder(path: Path) -> Download | None:
    try:
        with os.scandir(path) as scan:
            entries = [entry for entry in scan if not entry.is_symlink()]
    except OSError:
        return None
    items = [
        DownloadItem(
            entry.name, entry.is_dir(), entry.is_dir() and os.path.lexists(f"{entry.path}/.git")
        )
        for entry in entries
    ]
    return Download(path, _without_clutter(items))


def _zip(path: Path, top: str = "") -> Download | None:
    """What lies in a zip, or in the folder `top` of one; None if it is no zip that can be read."""
    try:
        with (
            open_file(path) as file,
            opened_zip(file, DOWNLOAD_LIMITS.entries) as archive,
        ):
            names = [slashed(member_name(info)) for info in archive.infolist()]
    except (OSError, Unreadable, *_DAMAGED):
        return None
    kinds: dict[str, DownloadItem] = {}
    for name in names:
        if not name.startswith(top):
            continue
        first, slash, rest = name[len(top) :].partition("/")
        known = kinds.get(first, DownloadItem(first, False))
        has_git = known.has_git or rest.startswith(".git/")
        kinds[first] = DownloadItem(first, known.is_folder or bool(slash), has_git)
    return Download(path, _without_clutter(list(kinds.values())), top)


def _without_clutter(items: list[DownloadItem]) -> tuple[DownloadItem, ...]:
    wanted = (
        item
        for item in items
        if item.name and not (is_clutter_folder(item.name) or is_clutter((item.name,)))
    )
    return tuple(sorted(wanted, key=lambda item: item.name))
