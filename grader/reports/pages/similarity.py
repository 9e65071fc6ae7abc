"""The pages of the most similar pairs of a class, for instructors only."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from pathlib import Path

from grader.core.text import one_line, plain
from grader.reports.pages.rendering import INDEX, assets, render, whole_folder
from grader.reports.similarity.comparison import SideBySide, SimilarPairs
from grader.reports.similarity.sources import ComparedSources

_STYLES = ("assets/page.css", "assets/alike.css")
_SCRIPTS = ("assets/theme.js",)


def alike_page(assignment: str, comparison: SimilarPairs, pages: Sequence[str]) -> str:
    """Returns the list of pairs, whose pages are at these paths."""
    return render(
        "alike.html.jinja",
        assets=assets(_STYLES, _SCRIPTS),
        assignment=one_line(assignment),
        pairs=[
            (found, len(found.lines[0]), page)
            for found, page in zip(comparison.pairs, pages, strict=True)
        ],
        usual=comparison.usual,
        read=comparison.read,
        others=comparison.others,
        remarks=[one_line(remark, 600) for remark in comparison.remarks],
    )


_MOST_LINES = 4000
_LONGEST_LINE = 400
Redacted = Callable[[str], str]


# A line of code: its number, its text, and whether it holds rare code of both.
CodeLine = tuple[int, str, bool]


def pair_page(assignment: str, found: SideBySide, redacted: Redacted) -> str:
    """Returns the page of a pair; `redacted` is applied to the texts of both submissions."""
    sides = zip("ab", (found.one, found.other), found.lines, strict=True)
    return render(
        "pair.html.jinja",
        assets=assets(_STYLES, _SCRIPTS),
        assignment=one_line(assignment),
        found=found,
        columns=[
            (side, one_line(one.name, 80), *_files(one.sources, shared, redacted))
            for side, one, shared in sides
        ],
    )


def _files(
    sources: ComparedSources, shared: Set[tuple[int, int]], redacted: Redacted
) -> tuple[list[tuple[str, list[CodeLine]]], int]:
    """Returns the files of a submission with their lines, and how many lines are left out."""
    files: list[tuple[str, list[CodeLine]]] = []
    room, left_out = _MOST_LINES, 0
    for place, file in enumerate(sources.files):
        texts = redacted(file.text).split("\n")
        left_out += max(len(texts) - room, 0)
        lines = [
            (number, plain(text).replace("\n", " ")[:_LONGEST_LINE], (place, number) in shared)
            for number, text in enumerate(texts[:room], 1)
        ]
        room -= len(lines)
        if lines:
            files.append((one_line(redacted(file.name)), lines))
    return files, left_out


_PAIRS = "pairs"


def write_alike(
    assignment: str,
    comparison: SimilarPairs,
    folder: Path,
    redacted: Redacted = str,
) -> Path:
    """Writes the list of pairs and a page for each into `folder`; returns the list's file.

    `redacted` is applied to the texts of submissions.

    Raises:
        NotWritten: if `folder` holds anything but such pages, or the disk refuses.
    """
    pages = [f"{_PAIRS}/{number:03}.html" for number, _ in enumerate(comparison.pairs, 1)]
    with whole_folder(folder) as partial:
        (partial / _PAIRS).mkdir()
        for found, page in zip(comparison.pairs, pages, strict=True):
            _write(partial / page, pair_page(assignment, found, redacted))
        _write(partial / INDEX, alike_page(assignment, comparison, pages))
    return folder / INDEX


def _write(path: Path, content: str) -> None:
    path.write_text(content, encoding="utf-8", newline="\n")
