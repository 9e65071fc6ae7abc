"""Gradescope's "Download Submissions": a folder for each submission, and who is behind it.

`submission_metadata.yml` has an entry for each folder; its keys are Ruby's symbols, with a colon
in front. There is no official description: the keys are those that other readers of it agree on.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime

from grader.core.submission import Author, Unreadable
from grader.intake.copying.limits import MIB
from grader.intake.entry import Discovery, Entry, Piece, Skipped
from grader.intake.naming import printable, several, shortened
from grader.intake.platforms.download import Download, DownloadItem

_METADATA = "submission_metadata.yml"
_LARGEST_METADATA = 256 * MIB  # it holds every submission's earlier results
_WANTED = frozenset({"submitters", "created_at"})
_FOLDER = re.compile(r"submission_\d+")


def gradescope_export(download: Download) -> Discovery | None:
    """What an export holds; None if it is none.

    A submission keeps its folder's name; its authors are all who are named for it.
    """
    metadata = next((item for item in download.items if item.name == _METADATA), None)
    if metadata is None or metadata.is_folder:
        return None
    known, notes = _read(download, metadata)
    folders = [
        item
        for item in download.items
        if item.is_folder and (item.name in known or _FOLDER.fullmatch(item.name))
    ]
    there = {item.name for item in folders}
    skipped = [
        Skipped(download.path / item.name, "not a submission of the export")
        for item in download.items
        if item.name not in there and item is not metadata
    ]
    without_folder = [name for name in known if name not in there]
    without_entry = [item.name for item in folders if item.name not in known]
    if without_folder:
        notes.append(f"{_METADATA} names submissions without a folder: {several(without_folder)}.")
    if without_entry and known:
        notes.append(f"{_METADATA} does not say whose these are: {several(without_entry)}.")
    entries = [_entry(download, item, known.get(item.name, {})) for item in folders]
    people = len({author for entry in entries for author in entry.authors})
    kind = "Gradescope export" + (f" of {people} people" if people else "")
    return Discovery(tuple(entries), tuple(skipped), tuple(notes), (kind,))


def _read(download: Download, metadata: DownloadItem) -> tuple[Mapping[str, object], list[str]]:
    """What is said of each submission, and what is wrong with that."""
    # Most downloads are no exports, and the process that takes submissions in needs no YAML.
    from grader.intake.platforms.yaml_outline import BadYaml, read_outline

    try:
        content = download.read(metadata, _LARGEST_METADATA + 1)
        if len(content) > _LARGEST_METADATA:
            raise BadYaml(f"it is larger than {_LARGEST_METADATA // MIB} MB")
        outline = read_outline(content, _WANTED)
    except (OSError, Unreadable, BadYaml) as error:
        reason = shortened(str(error))
        return {}, [
            f"{_METADATA} cannot be read, so that nobody knows whose the submissions are: {reason}."
        ]
    return {key: entry for key, entry in outline.items() if isinstance(entry, dict)}, []


def _entry(download: Download, item: DownloadItem, said: object) -> Entry:
    name = printable(item.name)
    fields = said if isinstance(said, dict) else {}
    submitters = fields.get("submitters")
    people = submitters if isinstance(submitters, list) else []
    authors = [_author(person) for person in people if isinstance(person, dict)]
    known = tuple(author for author in dict.fromkeys(authors) if author != Author())
    at = _moment(fields.get("created_at"))
    order = at.timestamp() if at else 0
    if download.is_zip:
        pieces = (Piece(download.place(item), ""),)
        return Entry(name, download.path, pieces, known, order=order, handed_in=at)
    return Entry(name, download.path / item.name, authors=known, order=order, handed_in=at)


def _author(person: Mapping[str, object]) -> Author:
    return Author(*(_text(person.get(key)) for key in ("name", "sid", "email")))


def _text(value: object) -> str:
    return shortened(value.strip()) if isinstance(value, str) else ""


def _moment(value: object) -> datetime | None:
    """The time of `2026-04-26 17:34:00.861687000 Z`; None of what is no time."""
    text = re.sub(r"(\.\d{6})\d*", r"\1", _text(value)).replace(" UTC", "Z").replace(" Z", "Z")
    try:
        moment = datetime.fromisoformat(text.replace(" +", "+").replace(" -", "-"))
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        moment.timestamp()
    except (ValueError, OverflowError):
        return None
    return moment
