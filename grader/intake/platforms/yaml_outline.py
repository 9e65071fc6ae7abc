"""A little of a large YAML file: chosen keys, as plain text, nothing of it ever constructed.

Tags are not looked at, so that no file can ask for an object; what is not wanted is passed over
event by event, so that its size and its nesting cost no memory; and an alias stands for a text
only, so that no few lines can unfold to gigabytes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import islice
from typing import Any

import yaml

from grader.intake.naming import shortened

Node = str | list[Any] | dict[str, Any]

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the one in C is ten times as fast
_LONGEST_TEXT = 1000
_MOST_ENTRIES = 100_000
_MOST_EVENTS = 10_000_000  # a second for each million; a class's results are a tenth of it
_DEEPEST_KEPT = 8
_DEEPEST = 200  # libyaml's time grows with the square of the depth


class BadYaml(ValueError):
    """The file is no such YAML; the text says why."""


def read_outline(content: bytes, wanted: Collection[str]) -> dict[str, Any]:
    """The file's mapping of names to mappings, of which only the keys `wanted` are kept.

    Every scalar is a text; a symbol of Ruby (`:name`) is its name, and null is an empty text.

    Raises:
        BadYaml: if it is not YAML, or no mapping.
    """
    try:
        return _Reader(yaml.parse(content, Loader=_LOADER), wanted).document()
    except (yaml.YAMLError, UnicodeError, StopIteration, RecursionError, ValueError) as error:
        raise BadYaml(_in_a_line(error)) from error


class _Reader:
    """Reads YAML's events, one value after another."""

    def __init__(self, events: Iterator[Any], wanted: Collection[str]) -> None:
        self._events = _bounded(events)
        self._wanted = wanted
        self._texts: dict[str, str] = {}
        self._left = _MOST_ENTRIES

    def document(self) -> dict[str, Any]:
        """The file's one mapping."""
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
        """The keys of the mapping that has begun, each with its value's first event."""
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
        """Reads on to the end of the value that begins with an event."""
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
