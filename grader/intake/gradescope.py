"""Gradescope's "Download Submissions".

An export has a folder for each submission, and the authors in a YAML file.

The reader of that file ignores tags, so that no file can create an object. It skips values that are
not needed event by event, so that their size and nesting cost no memory. An alias stands only for a
text, so that a few lines cannot unfold to gigabytes.

`submission_metadata.yml` has an entry for each folder; its keys are symbols of Ruby, with a colon
in front. There is no official description: the keys are those that other readers of it agree on.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from typing import Any

import yaml

from grader.core.late_rule import moment_in
from grader.core.names import printable, several, shortened
from grader.core.submission import Author, Unreadable
from grader.intake.downloads import Download, DownloadItem
from grader.intake.entry import Discovery, Entry
from grader.intake.limits import MIB

Node = str | list[Any] | dict[str, Any]

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the one in C is ten times as fast
_LONGEST_TEXT = 1000
_MOST_ENTRIES = 100_000
_MOST_EVENTS = 10_000_000  # a second for each million; a class's results are a tenth of it
_DEEPEST_KEPT = 8
_DEEPEST = 200  # libyaml's time grows with the square of the depth


class BadYaml(ValueError):
    """The file is not YAML of the expected form; the text says why."""


def read_outline(content: bytes, wanted: Collection[str]) -> dict[str, Any]:
    """Returns the file's mapping of names to mappings, with only the keys `wanted` in these.

    Every scalar is a text; a symbol of Ruby (`:name`) is its name, and null is an empty text.

    Raises:
        BadYaml: if the file is not YAML, or not a mapping.
    """
    try:
        return _Reader(yaml.parse(content, Loader=_LOADER), wanted).document()
    except (yaml.YAMLError, UnicodeError, StopIteration, RecursionError, ValueError) as error:
        raise BadYaml(_in_a_line(error)) from error


class _Reader:
    """A reader of YAML events, one value after another."""

    def __init__(self, events: Iterator[Any], wanted: Collection[str]) -> None:
        self._events = _bounded(events)
        self._wanted = wanted
        self._texts: dict[str, str] = {}
        self._left = _MOST_ENTRIES

    def document(self) -> dict[str, Any]:
        """Returns the file's one mapping."""
        start = next(self._events)
        while isinstance(start, yaml.StreamStartEvent | yaml.DocumentStartEvent):
            start = next(self._events)
        if not isinstance(start, yaml.MappingStartEvent):
            raise BadYaml("it holds no mapping")
        entries = {}
        for key, value in self._pairs():
            if isinstance(value, yaml.MappingStartEvent):
                entries[key] = self._entry()
            else:
                self._pass_over(value)
        return entries

    def _entry(self) -> dict[str, Node]:
        entry = {}
        for key, value in self._pairs():
            if key in self._wanted:
                entry[key] = self._value(value, 0)
            else:
                self._pass_over(value)
        return entry

    def _pairs(self) -> Iterator[tuple[str, Any]]:
        """Yields the keys of the mapping that has begun, each with its value's first event."""
        while not isinstance(key := next(self._events), yaml.MappingEndEvent):
            self._left -= 1
            if self._left < 0:
                raise BadYaml(f"it has more than {_MOST_ENTRIES} entries")
            name = self._value(key, _DEEPEST_KEPT)
            yield name.removeprefix(":") if isinstance(name, str) else "", next(self._events)

    def _value(self, event: Any, depth: int) -> Node:
        if isinstance(event, yaml.ScalarEvent):
            return self._text(event)
        if isinstance(event, yaml.AliasEvent):
            return self._texts.get(event.anchor or "", "")
        if depth >= _DEEPEST_KEPT:
            self._pass_over(event)
            return ""
        if isinstance(event, yaml.MappingStartEvent):
            return {key: self._value(value, depth + 1) for key, value in self._pairs()}
        items: list[Node] = []
        while not isinstance(item := next(self._events), yaml.SequenceEndEvent):
            items.append(self._value(item, depth + 1))
            if len(items) > _MOST_ENTRIES:
                raise BadYaml(f"it has more than {_MOST_ENTRIES} entries")
        return items

    def _text(self, event: Any) -> str:
        is_null = event.implicit[0] and event.value in ("", "~", "null")
        text = "" if is_null else event.value[:_LONGEST_TEXT]
        if event.anchor and len(self._texts) < _MOST_ENTRIES:
            self._texts[event.anchor] = text
        return text

    def _pass_over(self, event: Any) -> None:
        """Skips to the end of the value that begins with an event."""
        depth = 0
        while True:
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
                if depth > _DEEPEST:
                    raise BadYaml(f"it is nested more than {_DEEPEST} deep")
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            elif isinstance(event, yaml.ScalarEvent):
                self._text(event)
            if depth == 0:
                return
            event = next(self._events)


def _bounded(events: Iterator[Any]) -> Iterator[Any]:
    yield from islice(events, _MOST_EVENTS)
    raise BadYaml(f"it holds more than {_MOST_EVENTS:,} values, or ends too early")


def _in_a_line(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    what = getattr(error, "problem", None) or str(error).partition("\n")[0] or "it ends too early"
    return shortened(f"line {mark.line + 1}: {what}" if mark else what)


_METADATA = "submission_metadata.yml"
_LARGEST_METADATA = 256 * MIB  # it holds every submission's earlier results
_WANTED = frozenset({"submitters", "created_at"})
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


def _read(download: Download, metadata: DownloadItem) -> tuple[Mapping[str, object], list[str]]:
    """Returns the metadata of each submission, and notes on what is wrong with the metadata."""
    try:
        content = download.read(metadata, _LARGEST_METADATA + 1)
        if len(content) > _LARGEST_METADATA:
            raise BadYaml(f"it is larger than {_LARGEST_METADATA // MIB} MB")
        outline = read_outline(content, _WANTED)
    except (OSError, Unreadable, BadYaml) as error:
        reason = shortened(str(error))
        return {}, [
            f"{_METADATA} cannot be read, so the authors of the submissions are unknown: {reason}."
        ]
    return {key: entry for key, entry in outline.items() if isinstance(entry, dict)}, []


def _entry(download: Download, item: DownloadItem, said: object) -> Entry:
    name = printable(item.name)
    fields = said if isinstance(said, dict) else {}
    submitters = fields.get("submitters")
    people = submitters if isinstance(submitters, list) else []
    authors = [
        Author(*(_text(person.get(key)) for key in ("name", "sid", "email")))
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
