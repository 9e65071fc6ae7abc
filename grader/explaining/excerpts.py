"""Lines of a submission around the places that its verdicts point to."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from grader.evidence import Excerpt
from grader.intake.copying.regular_file import read_bounded
from grader.plain_text import plain
from grader.verdict import Where

_AROUND = 4
_MOST = 20
_LARGEST_FILE = 1 << 20
_LONGEST_LINE = 300


def excerpts(root: Path, places: Iterable[Where | None]) -> tuple[Excerpt, ...]:
    """A few lines around each place in the files below `root`; none for what is no file there.

    A place may be a worker's invention: nothing is followed out of `root`.
    """
    wanted: dict[str, set[int]] = {}
    for place in places:
        if place is not None:
            wanted.setdefault(place.file, set()).add(place.line)
    found: list[Excerpt] = []
    for file, numbers in wanted.items():
        lines = _lines(root, file)
        for number in sorted(numbers):
            if 1 <= number <= len(lines) and len(found) < _MOST:
                first = max(number - _AROUND, 1)
                shown = lines[first - 1 : number + _AROUND]
                found.append(Excerpt(file, first, tuple(plain(line) for line in shown)))
    return tuple(found)


def _lines(root: Path, file: str) -> list[str]:
    try:
        path = (root / file).resolve()
        if not path.is_relative_to(root.resolve()):
            return []
        text = read_bounded(path, _LARGEST_FILE).decode("utf-8", errors="replace")
    except (OSError, ValueError):
        return []
    return [line[:_LONGEST_LINE] for line in text.splitlines()]
