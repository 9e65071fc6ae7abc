"""Moodle's download of an assignment's submissions, in folders or flat.

A folder is called `<full name>_<participant>_assignsubmission_<plugin>`; where the download was
made without folders, every file begins with that and an underscore. A team has its own name and
number, the default team and nothing else has no number. Source: `mod/assign/classes/downloader.php`
of Moodle.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from grader.core.submission import Author
from grader.intake.copying.names import printable
from grader.intake.entry import Discovery, Entry, Piece, Skipped
from grader.intake.platforms.download import Download, DownloadItem

_PLUGIN = r"(?:_(?P<number>[0-9]{1,18}))?_assignsubmission_(?P<plugin>[a-z]+)"
# A person may be called as if that had been added already: of a folder, its end is Moodle's.
_FOLDER = re.compile(rf"(?P<name>.+?){_PLUGIN}(?P<file>)_?", re.DOTALL)
_FILE = re.compile(rf"(?P<name>.+?){_PLUGIN}_(?P<file>.*)", re.DOTALL)
_MARK = "_assignsubmission_"


def moodle_download(download: Download) -> Discovery | None:
    """Returns the submissions of a Moodle download, or None if this is no such download.

    All that one person or team handed in is one submission, called by their name and the number
    that stands in Moodle's grading worksheet: `Jane Doe_123`.
    """
    named = [(item, match) for item in download.items if (match := _match(item)) is not None]
    known = {item for item, _ in named}
    if not download.consists_of(known):
        return None
    by_owner: dict[tuple[str, str], list[tuple[DownloadItem, re.Match[str]]]] = {}
    for item, match in named:
        by_owner.setdefault((match["name"], match["number"] or ""), []).append((item, match))
    skipped = [
        Skipped(download.path / item.name, "not named as Moodle names submissions")
        for item in download.items
        if item not in known
    ]
    entries = [_entry(download, *owner, own) for owner, own in by_owner.items()]
    return Discovery(tuple(entries), tuple(skipped), kinds=("Moodle download",))


def _match(item: DownloadItem) -> re.Match[str] | None:
    """Matches an item's name; matches no file whose name does not hold Moodle's mark exactly once.

    Nobody can tell there where the person's name ends.
    """
    if item.is_folder:
        return _FOLDER.fullmatch(item.name)
    return _FILE.fullmatch(item.name) if item.name.count(_MARK) == 1 else None


def _entry(
    download: Download, name: str, number: str, own: Sequence[tuple[DownloadItem, re.Match[str]]]
) -> Entry:
    label = printable(f"{name}_{number}" if number else name)
    author = Author(printable(name), number)
    (first, _), *more = own
    if first.is_folder and not more and not download.is_zip:
        return Entry(label, download.path / first.name, authors=(author,))
    pieces = [Piece(download.place(item), _name(item, match)) for item, match in own]
    return Entry(label, download.path, tuple(pieces), (author,))


def _name(item: DownloadItem, match: re.Match[str]) -> str:
    """Returns a piece's name in the submission: typed text has a file of its own."""
    if match["file"]:
        return match["file"]
    return "" if item.is_folder else f"{match['plugin']}.html"
