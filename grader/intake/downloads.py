"""Downloads from Canvas, Moodle and GitHub Classroom, and each person's latest submission.

A Canvas download holds flat files, named after their authors: `<name>[_LATE]_<user id>_<attachment
id>_<its name>`. For anonymous assignments, the names are `[LATE_]anon_<anonymous id>_<attachment
id>_<its name>`. Text typed into Canvas ends in `_text.html`, a web address in `_link.html`; neither
has an attachment id. Source: `lib/content_zipper.rb` of canvas-lms.

A Moodle download holds folders `<full name>_<participant>_assignsubmission_<plugin>`. In a download
without folders, every file name begins with that and an underscore. A team has its own name and
number; only the default team has no number. Source: `mod/assign/classes/downloader.php` of Moodle.

The clones of GitHub Classroom are folders `<assignment>-<user>`, one for each student or team.
"""

from __future__ import annotations

import itertools
import os
import re
import statistics
import zipfile
import zlib
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path

from grader.core.names import printable, several
from grader.core.submission import Author, Unreadable
from grader.core.text import enumerated, quantity
from grader.intake.archives import ARCHIVES, check_readable, member_name, opened_zip, slashed
from grader.intake.entry import Discovery, Entry, Piece, Skipped, names_of, normalised
from grader.intake.limits import CODE, DOWNLOAD_LIMITS, is_clutter_item
from grader.intake.open_folder import open_file, read_bounded


def latest_of_each(entries: Sequence[Entry]) -> Discovery:
    """Keeps each person's latest submission; among equally late ones, the last of `entries`.

    A group's submission counts for the members who have no later one, which a note says; if all
    have, it is skipped. A note counts the submissions that several downloads hold. Without an id or
    address, two people of one name are never taken for the same person.
    """
    last: dict[tuple[str, ...], Entry] = {}
    for entry in sorted(entries, key=lambda entry: entry.order):
        last |= {_key(author): entry for author in entry.authors if any(_key(author))}
    kept: list[Entry] = []
    skipped: list[Skipped] = []
    notes: list[str] = []
    twice = 0
    for entry in entries:
        later = {
            author: last[_key(author)]
            for author in entry.authors
            if last.get(_key(author), entry) is not entry
        }
        staying = tuple(author for author in entry.authors if author not in later)
        if later and not staying:
            same = {(other.name, other.order) for other in later.values()}
            if entry.order and same == {(entry.name, entry.order)}:
                twice += 1
                continue
            names = [other.name for other in later.values()]
            reason = f"handed in again: {several(list(dict.fromkeys(names)))} counts"
            places = [entry.path / one.place for one in entry.pieces] or [entry.path]
            skipped += [Skipped(place, reason, names[0]) for place in places]
            continue
        kept.append(replace(entry, authors=staying) if later else entry)
        for author, other in later.items():
            who = names_of((author,))
            notes.append(
                f"{who} handed in {entry.name} with others and {other.name} later: "
                f"{other.name} counts for {who}."
            )
    if twice:
        said = f"{quantity(twice, 'submission')} {'is' if twice == 1 else 'are'} the same"
        notes.append(f"{said} in several downloads: taken once.")
    return Discovery(tuple(kept), tuple(skipped), tuple(notes))


def _key(author: Author) -> tuple[str, ...]:
    """Returns a key for a person; it is empty if only a name is known."""
    if author.email:
        return (normalised(author.email),)
    return (normalised(author.id), normalised(author.name)) if author.id else ()


# Raised by `zipfile` and the decompressors for a file that is not a zip, damaged or encrypted.
_DAMAGED = (zipfile.BadZipFile, zlib.error, RuntimeError, ValueError, EOFError)
_SUBMISSIONS = (*CODE, *ARCHIVES)


@dataclass(frozen=True, slots=True)
class DownloadItem:
    """A file or folder at the top of a download; `has_git` marks a checkout."""

    name: str
    is_folder: bool
    has_git: bool = False


@dataclass(frozen=True, slots=True)
class Download:
    """A folder, or the folder `top` of a zip, and its items without clutter and links."""

    path: Path
    items: tuple[DownloadItem, ...]
    top: str = ""

    @property
    def is_zip(self) -> bool:
        """Returns whether the download is still zipped."""
        return not self.path.is_dir()

    def consists_of(self, known: Set[DownloadItem]) -> bool:
        """Returns whether `known` are most of the download's folders, archives and code files."""
        rivals = [
            item
            for item in self.items
            if item not in known and (item.is_folder or item.name.lower().endswith(_SUBMISSIONS))
        ]
        return len(known) > len(rivals)

    def place(self, item: DownloadItem) -> str:
        """Returns the path of an item inside `path`."""
        return f"{self.top}{item.name}"

    def entry(self, item: DownloadItem, name: str, authors: tuple[Author, ...]) -> Entry:
        """Returns a folder of the download as one submission."""
        if self.is_zip:
            return Entry(name, self.path, (Piece(self.place(item), ""),), authors)
        return Entry(name, self.path / item.name, authors=authors)

    def others(self, known: Set[DownloadItem], reason: str) -> Iterator[Skipped]:
        """Yields the items that are not `known`, with the reason why they are skipped."""
        for item in self.items:
            if item not in known:
                yield Skipped(self.path / item.name, reason)

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


def downloads_at(path: Path, results: Path | None) -> Iterator[Download]:
    """Yields possible downloads at a given path: the path itself, and the folder that a zip holds.

    Items of a given folder are never downloads: each is a submission, under any name, except the
    folder of a batch's `results`.
    """
    try:
        is_folder, place = path.is_dir(), path.resolve()
    except (OSError, RuntimeError):  # no name of a file, or links in a circle
        return
    if is_folder:
        yield from _folder(place, results)
    elif path.suffix.lower() == ".zip":
        for download in _zip(place):
            yield download
            if len(download.items) == 1 and download.items[0].is_folder:
                yield from _zip(download.path, f"{download.items[0].name}/")


def _folder(path: Path, results: Path | None) -> Iterator[Download]:
    """Yields a folder as a download, if it can be read."""
    try:
        with os.scandir(path) as scan:
            there = [entry for entry in scan if not entry.is_symlink()]
    except OSError:
        return
    entries = [entry for entry in there if Path(entry.path) != results]
    items = [
        DownloadItem(
            entry.name, entry.is_dir(), entry.is_dir() and os.path.lexists(f"{entry.path}/.git")
        )
        for entry in entries
    ]
    yield Download(path, _without_clutter(items))


def _zip(path: Path, top: str = "") -> Iterator[Download]:
    """Yields a zip, or its folder `top`, as a download, if it can be read."""
    try:
        with (
            open_file(path) as file,
            opened_zip(file, DOWNLOAD_LIMITS.entries) as archive,
        ):
            names = [slashed(member_name(info)) for info in archive.infolist()]
    except (OSError, Unreadable, *_DAMAGED):
        return
    kinds: dict[str, DownloadItem] = {}
    for name in names:
        if not name.startswith(top):
            continue
        first, slash, rest = name[len(top) :].partition("/")
        known = kinds.get(first, DownloadItem(first, False))
        has_git = known.has_git or rest.startswith(".git/")
        kinds[first] = DownloadItem(first, known.is_folder or bool(slash), has_git)
    yield Download(path, _without_clutter(list(kinds.values())), top)


def _without_clutter(items: list[DownloadItem]) -> tuple[DownloadItem, ...]:
    wanted = (item for item in items if item.name and not is_clutter_item(item.name))
    return tuple(sorted(wanted, key=lambda item: item.name))


_CANVAS = r"_(?:(?P<attachment>[0-9]{1,18})_(?P<file>.+)|(?P<typed>text|link)\.html)"
_AFTER_A_NAME = re.compile(r"(?P<late>_LATE)?_(?P<user>[0-9]+)" + _CANVAS, re.DOTALL)
# A name with more readings may hide the right one.
_MOST_READINGS = 8
_ANONYMOUS = re.compile(r"(?P<late>LATE_)?anon_(?P<user>[0-9A-Za-z]+)" + _CANVAS, re.DOTALL)
_TYPED = {"text": "text entry.html", "link": "web address.html"}
# Canvas renames a file that is handed in again under its old name: `name-1.py`.
_AGAIN = re.compile(r"(?P<stem>.+?)-(?P<again>\d{1,3})(?P<suffix>(?:\.[A-Za-z][A-Za-z0-9]*)+)")


@dataclass(frozen=True, slots=True)
class _Attachment:
    """A file of a download; `name` is its name before Canvas numbered it."""

    item: DownloadItem
    person: str
    is_anonymous: bool
    user: str
    late: bool
    number: int
    again: int
    name: str


def canvas_download(download: Download) -> Discovery | None:
    """Returns the submissions of a Canvas download, or None if this is no such download.

    All files of one person are one submission, named by the person's name and number in Canvas:
    `doejane_123`. A file that may be of two people is a submission of its own, without an author.
    """
    readings = [found for item in download.items if (found := [*_readings(item)])]
    known = {found[0].item for found in readings}
    if not download.consists_of(known):
        return None
    numbers = [found[0].number for found in readings if found[0].number]
    usual = statistics.median(numbers) if numbers else 0
    by_user: dict[tuple[str, str], list[_Attachment]] = {}
    notes: list[str] = []
    for found in readings:
        one, unsure = found[0], ""
        if not _is_first_sure(found, usual):
            one = replace(found[-1], is_anonymous=True)
            people = enumerated([f"{each.person} ({each.user})" for each in found])
            notes.append(printable(f"{one.item.name} may be of {people}: decide whose it is."))
            unsure = one.person
        elif one.is_anonymous:
            unsure = "anon"
        by_user.setdefault((unsure, one.user), []).append(one)
    entries: list[Entry] = []
    skipped = [*download.others(known, "not named as Canvas names submissions")]
    for own in by_user.values():
        latest = _latest(own)
        entry = _canvas_entry(download, latest)
        entries.append(entry)
        reason = f"handed in again: the latest of {entry.name} counts"
        places = [download.path / one.item.name for one in own if one not in latest]
        skipped += [Skipped(place, reason, entry.name) for place in places]
    return Discovery(tuple(entries), tuple(skipped), tuple(notes), ("Canvas download",))


def _readings(item: DownloadItem) -> Iterator[_Attachment]:
    """Yields the readings of a file's name: a person's name may look like Canvas's numbers.

    The reading with the shortest name comes first.
    """
    if (anonymous := _ANONYMOUS.fullmatch(item.name)) is not None:
        yield _attachment(item, "anon", anonymous)
        return
    marks = (mark.start() for mark in re.finditer("_", item.name))
    ends = (end for end in marks if end and not item.name.endswith("_LATE", 0, end))
    found = ((end, match) for end in ends if (match := _AFTER_A_NAME.fullmatch(item.name, end)))
    for end, match in itertools.islice(found, _MOST_READINGS):
        yield _attachment(item, item.name[:end], match)


def _is_first_sure(found: Sequence[_Attachment], usual: float) -> bool:
    """Returns whether the first reading of a name is right, although there may be others.

    Canvas numbers all attachments one after another: no number far below the `usual` one is
    Canvas's, so that it belongs to the file's own name, as in `1_softmax.py`.
    """
    others = found[1:]
    return len(found) < _MOST_READINGS and all(0 < 10 * one.number < usual for one in others)


def _attachment(item: DownloadItem, person: str, found: re.Match[str]) -> _Attachment:
    name, again = found["file"] or _TYPED[found["typed"]], 0
    if name.lower().endswith(_SUBMISSIONS) and (numbered := _AGAIN.fullmatch(name)):
        name, again = numbered["stem"] + numbered["suffix"], int(numbered["again"])
    return _Attachment(
        item=item,
        person=person,
        is_anonymous=found.re is _ANONYMOUS,
        user=found["user"],
        late=found["late"] is not None,
        number=int(found["attachment"] or 0),
        again=again,
        name=name,
    )


def _latest(own: Sequence[_Attachment]) -> list[_Attachment]:
    """Returns a person's last files: the late ones if there are any, the last of each name.

    Keeps only the last of several archives: two archives are two submissions.
    """
    if any(one.late for one in own):
        own = [one for one in own if one.late]
    own = [one for one in own if one.number] or own  # typed text counts only if there is no file
    latest: dict[str, _Attachment] = {}
    for one in sorted(own, key=lambda one: (one.again, one.number)):
        latest[one.name] = one
    archives = [one for one in latest.values() if one.name.lower().endswith(ARCHIVES)]
    last = max(archives, key=lambda one: one.number, default=None)
    return [one for one in latest.values() if one not in archives or one is last]


def _canvas_entry(download: Download, latest: Sequence[_Attachment]) -> Entry:
    one = latest[0]
    name = printable(f"{one.person}_{one.user}")
    # The number of an anonymous person must not be taken for a user's.
    author = Author(id=name) if one.is_anonymous else Author(printable(one.person), one.user)
    return Entry(
        name,
        download.path,
        tuple(Piece(download.place(each.item), each.name) for each in latest),
        (author,),
        one.late,
        max(each.number for each in latest),
    )


_PLUGIN = r"(?:_(?P<number>[0-9]{1,18}))?_assignsubmission_(?P<plugin>[a-z]+)"
# A person's own name may look like Moodle's suffix: in a folder's name the last one is Moodle's.
_MOODLE_FOLDER = re.compile(rf"(?P<name>.+?){_PLUGIN}(?P<file>)_?", re.DOTALL)
_MOODLE = re.compile(rf"(?P<name>.+?){_PLUGIN}_(?P<file>.*)", re.DOTALL)
_MARK = "_assignsubmission_"


def moodle_download(download: Download) -> Discovery | None:
    """Returns the submissions of a Moodle download, or None if this is no such download.

    All files of one person or team are one submission, named by their name and their number in
    Moodle's grading worksheet: `Jane Doe_123`. A file whose name holds Moodle's mark several times
    is a submission of its own, without an author: the end of the author's name is unknown.
    """
    files = [item for item in download.items if not item.is_folder]
    unsure = dict.fromkeys(item for item in files if item.name.count(_MARK) > 1)
    matches = ((item, _moodle_match(item)) for item in download.items if item not in unsure)
    named = [(item, match) for item, match in matches if match is not None]
    known = {*unsure, *(item for item, _ in named)}
    if not download.consists_of(known):
        return None
    by_owner: dict[tuple[str, str], list[tuple[DownloadItem, re.Match[str]]]] = {}
    for item, match in named:
        by_owner.setdefault((match["name"], match["number"] or ""), []).append((item, match))
    skipped = download.others(known, "not named as Moodle names submissions")
    entries = [_moodle_entry(download, *owner, own) for owner, own in by_owner.items()]
    notes = []
    for item in unsure:
        name = printable(item.name)
        entries.append(Entry(name, download.path, (Piece(download.place(item), item.name),)))
        notes.append(f"{name} may be of several people: decide whose it is.")
    return Discovery(tuple(entries), tuple(skipped), tuple(notes), ("Moodle download",))


def _moodle_match(item: DownloadItem) -> re.Match[str] | None:
    return (_MOODLE_FOLDER if item.is_folder else _MOODLE).fullmatch(item.name)


def _moodle_entry(
    download: Download, name: str, number: str, own: Sequence[tuple[DownloadItem, re.Match[str]]]
) -> Entry:
    label = printable(f"{name}_{number}" if number else name)
    author = Author(printable(name), number)
    (first, _), *more = own
    if first.is_folder and not more:
        return download.entry(first, label, (author,))
    pieces = [Piece(download.place(item), _moodle_name(item, match)) for item, match in own]
    return Entry(label, download.path, tuple(pieces), (author,))


def _moodle_name(item: DownloadItem, match: re.Match[str]) -> str:
    """Returns a piece's name in the submission: typed text has a file of its own."""
    if match["file"]:
        return match["file"]
    return "" if item.is_folder else f"{match['plugin']}.html"


_FOLDER_SUFFIX = "-submissions"  # what `gh classroom clone student-repos` adds to the assignment


def classroom_clones(download: Download) -> Discovery | None:
    """Returns the submissions of a folder of clones, or None if this is no such folder.

    A submission keeps its folder's name; its author's id is the user's name on GitHub.
    """
    folders = [item for item in download.items if item.is_folder]
    prefix = _common_prefix(download, folders)
    if not prefix or 2 * sum(item.has_git for item in folders) <= len(folders):
        return None
    entries = [_classroom_clone(download, item, prefix) for item in folders]
    skipped = download.others({*folders}, "not a clone")
    kind = f"GitHub Classroom clones of {printable(prefix[:-1])}"
    return Discovery(tuple(entries), tuple(skipped), kinds=(kind,))


def _common_prefix(download: Download, folders: list[DownloadItem]) -> str:
    """Returns the common prefix of the clones' names, with its hyphen; empty if there is none.

    Users may have hyphens in their names: a folder named by Classroom's own command counts more
    than the common beginning of the clones' names.
    """
    names = [item.name for item in folders]
    above = (download.top or download.path.name).removesuffix("/")
    assignment = f"{above.removesuffix(_FOLDER_SUFFIX)}-"
    if above.endswith(_FOLDER_SUFFIX) and all(name.startswith(assignment) for name in names):
        return assignment
    if len(names) < 2:
        return ""
    pairs = zip(min(names), max(names), strict=False)
    common = "".join(one for one, _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))
    return common[: common.rfind("-") + 1]


def _classroom_clone(download: Download, item: DownloadItem, prefix: str) -> Entry:
    author = Author(id=printable(item.name.removeprefix(prefix)))
    return download.entry(item, printable(item.name), (author,))
