"""A platform's download: its names, and the latest of a person's submissions."""

from __future__ import annotations

import dataclasses
import os
import zipfile
import zlib
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

from grader.core.submission import Author, Unreadable
from grader.intake.archives.archive import FOREIGN, READABLE
from grader.intake.archives.formats import check_readable, member_name, opened_zip, slashed
from grader.intake.copying.limits import CODE, DOWNLOAD_LIMITS, is_clutter, is_clutter_folder
from grader.intake.copying.names import several
from grader.intake.copying.open_folder import open_file, read_bounded
from grader.intake.entry import Entry, Skipped
from grader.intake.identity import compared


@dataclass(frozen=True, slots=True)
class Latest:
    """The entries that count, those that do not, and a note on each that counts for some only."""

    entries: tuple[Entry, ...]
    skipped: tuple[Skipped, ...] = ()
    notes: tuple[str, ...] = ()


def latest_of_each(entries: Sequence[Entry]) -> Latest:
    """Leaves to each person the submission that was handed in last, of equals the last one here.

    A group's submission stays with those members who have no later one; one that stays with nobody
    does not count. Whom only a name is known of is never taken for somebody else of that name.
    """
    last: dict[tuple[str, ...], Entry] = {}
    for entry in sorted(entries, key=lambda entry: entry.order):
        last |= {_key(author): entry for author in entry.authors if any(_key(author))}
    kept: list[Entry] = []
    skipped: list[Skipped] = []
    notes: list[str] = []
    for entry in entries:
        later = {
            author: last[_key(author)]
            for author in entry.authors
            if last.get(_key(author), entry) is not entry
        }
        staying = tuple(author for author in entry.authors if author not in later)
        if later and not staying:
            names = [other.name for other in later.values()]
            reason = f"handed in again: {several(list(dict.fromkeys(names)))} counts"
            skipped.append(Skipped(_place(entry), reason, names[0]))
            continue
        kept.append(dataclasses.replace(entry, authors=staying) if later else entry)
        for author, other in later.items():
            who = author.name or author.email or author.id
            notes.append(
                f"{who} handed in {entry.name} with others and {other.name} later: "
                f"{other.name} counts for {who}."
            )
    return Latest(tuple(kept), tuple(skipped), tuple(notes))


def _key(author: Author) -> tuple[str, ...]:
    """Returns a key for a person; it is empty where no more than a name is known."""
    if author.email:
        return (compared(author.email),)
    return (compared(author.id), compared(author.name)) if author.id else ()


def _place(entry: Entry) -> Path:
    return entry.path / entry.pieces[0].place if entry.pieces else entry.path


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
        """Returns whether it is still zipped."""
        return not self.path.is_dir()

    def consists_of(self, known: Set[DownloadItem]) -> bool:
        """Returns whether these are most of the download's folders, archives and code files."""
        rivals = [
            item
            for item in self.items
            if item not in known and (item.is_folder or item.name.lower().endswith(_SUBMISSIONS))
        ]
        return len(known) > len(rivals)

    def place(self, item: DownloadItem) -> str:
        """Returns the path of an item inside `path`."""
        return f"{self.top}{item.name}"

    def read(self, item: DownloadItem, at_most: int) -> bytes:
        """Returns the first `at_most` bytes of a file of the download.

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
    """Yields possible downloads at a given path: the path itself, and the folder that a zip holds.

    Items of a given folder are never downloads: each is somebody's submission, under any name.
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
    """Opens a zip, or the folder `top` of one; returns None if no zip can be read."""
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
