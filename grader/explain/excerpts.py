"""Excerpts: the lines of a submission around the places that its verdicts name."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from grader.core.evidence import Excerpt
from grader.core.text import plain, source_text
from grader.core.verdict import Where
from grader.intake.open_folder import read_bounded

_AROUND = 4
_MOST = 20
_LARGEST_FILE = 1 << 20
_LONGEST_LINE = 300


def excerpts(root: Path, places: Iterable[Where | None]) -> tuple[Excerpt, ...]:
    """Returns a few lines around each place that exists in a file below `root`.

    A worker may invent a place, so no file outside `root` is read.
    """
    wanted: dict[str, set[int]] = {}
    for place in places:
        if place is not None:
            wanted.setdefault(place.file, set()).add(place.line)
    found: list[Excerpt] = []
    for file, numbers in wanted.items():
        lines = lines_of(root, file)
        for number in sorted(numbers):
            if 1 <= number <= len(lines) and len(found) < _MOST:
                first = max(number - _AROUND, 1)
                shown = lines[first - 1 : number + _AROUND]
                found.append(Excerpt(file, first, _shown(shown)))
    return tuple(found)


def _shown(lines: Iterable[str]) -> tuple[str, ...]:
    return tuple(plain(line[:_LONGEST_LINE]).replace("\n", " ") for line in lines)


def lines_of(root: Path, file: str) -> list[str]:
    """Returns the lines of a file below `root`; none if it is outside or cannot be read."""
    try:
        path = (root / file).resolve()
        if not path.is_relative_to(root.resolve()):
            return []
        text = source_text(read_bounded(path, _LARGEST_FILE))
    except (OSError, ValueError):
        return []
    *lines, rest = text.split("\n")
    return [*lines, rest] if rest else lines
