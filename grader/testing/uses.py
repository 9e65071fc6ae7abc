"""Says in words which forbidden functions and classes were used, and where."""

from __future__ import annotations

from collections.abc import Iterable

from grader.core.wire.calls import Use

_NAMES = 5
_LINES = 4

WISH = "which this assignment wants written by hand"


def in_words(uses: Iterable[Use]) -> str:
    """The names with their files and lines: "torch.nn.Linear (model.py, lines 3, 7)"."""
    places: dict[str, dict[str, list[int]]] = {}
    for use in sorted(set(uses), key=lambda use: (use.file, use.line)):
        places.setdefault(use.name, {}).setdefault(use.file, []).append(use.line)
    told = [f"{name} ({_places(files)})" for name, files in sorted(places.items())[:_NAMES]]
    more = [f"{len(places) - _NAMES} more"] if len(places) > _NAMES else []
    *others, last = [*told, *more]
    return f"{', '.join(others)} and {last}" if others else last


def _places(files: dict[str, list[int]]) -> str:
    told = [_lines(file, lines) for file, lines in list(files.items())[:_LINES]]
    return "; ".join([*told, *(["…"] if len(files) > _LINES else [])])


def _lines(file: str, lines: list[int]) -> str:
    told = [*map(str, lines[:_LINES]), *(["…"] if len(lines) > _LINES else [])]
    return f"{file}, line{'s' if len(lines) > 1 else ''} {', '.join(told)}"
