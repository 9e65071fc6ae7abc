"""Gradescope's "Download Submissions".

An export has a folder for each submission, and the authors in a YAML file.

`submission_metadata.yml` has an entry for each folder; its keys are symbols of Ruby, with a colon
in front. There is no official description: the keys are those that other readers of it agree on.
The parts of an entry that are not needed, such as earlier results, are left out line by line: each
key of an entry begins a line, after two spaces.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import yaml

from grader.core.late_rule import moment_in
from grader.core.names import printable, several, shortened
from grader.core.submission import Author, Unreadable
from grader.intake.downloads import Download, DownloadItem
from grader.intake.entry import Discovery, Entry
from grader.intake.limits import MIB


class BadYaml(ValueError):
    """The file is not YAML of the expected form; the text says why."""


_KEY = re.compile(r"  :?(\w+):(?!\S)")
_WANTED = frozenset({"submitters", "created_at"})
_LARGEST_OUTLINE = MIB  # a thousand people need a fifth


def read_outline(content: bytes) -> dict[str, Any]:
    """Returns the file's mapping of names to mappings, with only the wanted keys in these.

    Every scalar is a text. Tags are ignored, so that no file can create an object.

    Raises:
        BadYaml: if the file is not YAML, or not a mapping.
    """
    try:
        kept = "".join(_outline(content))
        if len(kept) > _LARGEST_OUTLINE:
            raise BadYaml("it names too many people")
        # The loader in C could overflow the stack; this one raises RecursionError.
        entries = yaml.load(kept, Loader=yaml.BaseLoader)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise BadYaml(_in_a_line(error)) from error
    if not isinstance(entries, dict):
        raise BadYaml("it holds no mapping")
    return entries


def _outline(content: bytes) -> Iterator[str]:
    """Yields the lines of entries' names and of the values of wanted keys."""
    is_wanted = True
    for line in io.TextIOWrapper(io.BytesIO(content), "utf-8"):
        if key := _KEY.match(line):
            is_wanted = key[1] in _WANTED
        elif not line[0].isspace():
            is_wanted = True
        if is_wanted:
            yield line


def _in_a_line(error: Exception) -> str:
    what = getattr(error, "problem", None) or str(error).partition("\n")[0]
    return shortened(what or "it ends too early")


_METADATA = "submission_metadata.yml"
_LARGEST_METADATA = 256 * MIB  # it holds every submission's earlier results
_FOLDER = re.compile(r"submission_\d+")


def gradescope_export(download: Download) -> Discovery | None:
    """Returns the submissions of a Gradescope export, or None if this is no export.

    A submission keeps its folder's name; its authors are all people named in its metadata.
    """
    metadata = next((item for item in download.items if item.name == _METADATA), None)
    if metadata is None or metadata.is_folder:
        return None
    known, notes = _read(download, metadata)
    # In a folder of other names, the metadata may be a student's, who claims others' work.
    folders = [item for item in download.items if item.is_folder and _FOLDER.fullmatch(item.name)]
    there = {item.name for item in folders}
    skipped = download.others({*folders, metadata}, "not a submission of the export")
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


def _read(
    download: Download, metadata: DownloadItem
) -> tuple[dict[str, dict[str, object]], list[str]]:
    """Returns the metadata of each submission, and notes on what is wrong with the metadata."""
    try:
        content = download.read(metadata, _LARGEST_METADATA + 1)
        if len(content) > _LARGEST_METADATA:
            raise BadYaml(f"it is larger than {_LARGEST_METADATA // MIB} MB")
        outline = read_outline(content)
    except (OSError, Unreadable, BadYaml) as error:
        reason = shortened(str(error))
        return {}, [
            f"{_METADATA} cannot be read, so the authors of the submissions are unknown: {reason}."
        ]
    return {key: _named(entry) for key, entry in outline.items() if isinstance(entry, dict)}, []


def _named(symbols: Mapping[object, object]) -> dict[str, object]:
    """Returns a mapping with names in place of Ruby's symbols."""
    return {str(key).removeprefix(":"): value for key, value in symbols.items()}


def _entry(download: Download, item: DownloadItem, fields: Mapping[str, object]) -> Entry:
    name = printable(item.name)
    submitters = fields.get("submitters")
    people = submitters if isinstance(submitters, list) else []
    authors = [
        Author(*(_text(_named(person).get(key)) for key in ("name", "sid", "email")))
        for person in people
        if isinstance(person, dict)
    ]
    known = tuple(author for author in dict.fromkeys(authors) if author != Author())
    at = _moment(fields.get("created_at"))
    order = at.timestamp() if at else 0
    return replace(download.entry(item, name, known), order=order, handed_in=at)


def _text(value: object) -> str:
    return shortened(value.strip()) if isinstance(value, str) else ""


def _moment(value: object) -> datetime | None:
    """Returns the time in a text like `2026-04-26 17:34:00.861687000 Z`; None if it has none."""
    moment = moment_in(_text(value))
    return moment.replace(tzinfo=moment.tzinfo or UTC) if moment else None
