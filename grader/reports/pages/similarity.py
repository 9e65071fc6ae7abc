"""The pages of the most similar pairs of a class, for instructors only."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.core.text import one_line, plain
from grader.reports.pages.rendering import INDEX, assets, render, whole_folder
from grader.reports.similarity.comparison import SideBySide, SimilarPairs
from grader.reports.similarity.sources import ComparedSources, LineRange

_STYLES = ("assets/page.css", "assets/alike.css")
_SCRIPTS = ("assets/theme.js",)


def alike_page(
    assignment: str, comparison: SimilarPairs, pages: Sequence[str], class_page: str
) -> str:
    """Returns the list of pairs, whose pages are at these paths.

    `class_page` is the path of the page of the class, or "".
    """
    return render(
        "alike.html.jinja",
        assets=assets(_STYLES, _SCRIPTS),
        assignment=one_line(assignment),
        pairs=[
            (found, len(_marked(passage.one for passage in found.passages)), page)
            for found, page in zip(comparison.pairs, pages, strict=True)
        ],
        usual=comparison.usual,
        read=comparison.read,
        others=comparison.others,
        remarks=[one_line(remark, 600) for remark in comparison.remarks],
        class_page=class_page,
    )


_MOST_LINES = 4000
_LONGEST_LINE = 400
# Passages of at most this many submissions are rare, and are marked in a darker colour.
_FEW = 3
Redacted = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class PassageLine:
    """A line of code; `passage` is the number of its passage, or 0.

    `begins` says whether the passage begins here; `few` says whether few submissions have it.
    """

    number: int
    text: str
    passage: int
    begins: bool
    few: bool


@dataclass(frozen=True, slots=True)
class Column:
    """One side of a pair's page: the submission's name, and its files with their lines."""

    side: str
    opposite: str
    name: str
    files: tuple[tuple[str, tuple[PassageLine, ...]], ...]
    left_out: int


def pair_page(assignment: str, found: SideBySide, redacted: Redacted) -> str:
    """Returns the page of a pair; `redacted` is applied to the texts of both submissions."""
    columns = [
        _column(
            "ab"[place],
            one_line((found.one, found.other)[place].name, 80),
            found.sources[place],
            [(p.one, p.other)[place] for p in found.passages],
            [p.fewest <= _FEW for p in found.passages],
            redacted,
        )
        for place in (0, 1)
    ]
    return render(
        "pair.html.jinja",
        assets=assets(_STYLES, _SCRIPTS),
        assignment=one_line(assignment),
        found=found,
        columns=columns,
        few=_FEW,
        passages=[
            (number, _where(p.one, found.sources[0], redacted), p.fewest)
            for number, p in enumerate(found.passages, 1)
        ],
    )


def _where(stretch: LineRange, sources: ComparedSources, redacted: Redacted) -> str:
    name = one_line(redacted(sources.files[stretch.file].name))
    return f"{name}:{stretch.first}-{stretch.last}"


def _marked(stretches: Iterable[LineRange]) -> Mapping[tuple[int, int], int]:
    """Returns the number of each line's first passage, by file and line."""
    marked: dict[tuple[int, int], int] = {}
    for number, stretch in enumerate(stretches, 1):
        for line in range(stretch.first, stretch.last + 1):
            marked.setdefault((stretch.file, line), number)
    return marked


def _column(
    side: str,
    name: str,
    sources: ComparedSources,
    stretches: Sequence[LineRange],
    few: Sequence[bool],
    redacted: Redacted,
) -> Column:
    marked, begun = _marked(stretches), set[int]()
    files: list[tuple[str, tuple[PassageLine, ...]]] = []
    room, left_out = _MOST_LINES, 0
    for place, file in enumerate(sources.files):
        texts = redacted(file.text).split("\n")
        left_out += max(len(texts) - room, 0)
        lines: list[PassageLine] = []
        for number, text in enumerate(texts[:room], 1):
            passage = marked.get((place, number), 0)
            begins = passage > 0 and passage not in begun
            begun.add(passage)
            shown = plain(text).replace("\n", " ")[:_LONGEST_LINE]
            is_few = passage > 0 and few[passage - 1]
            lines.append(PassageLine(number, shown, passage, begins, is_few))
        room -= len(lines)
        if lines:
            files.append((one_line(redacted(file.name)), tuple(lines)))
    return Column(side, "b" if side == "a" else "a", name, tuple(files), left_out)


_PAIRS = "pairs"


def write_alike(
    assignment: str,
    comparison: SimilarPairs,
    folder: Path,
    report: Path,
    redacted: Redacted = str,
) -> Path:
    """Writes the list of pairs and a page for each into `folder`; returns the list's file.

    `report` is the folder of the class's report; the list links to it if it exists. `redacted` is
    applied to the texts of submissions.

    Raises:
        NotWritten: if `folder` holds anything but such pages, or the disk refuses.
    """
    pages = [f"{_PAIRS}/{number:03}.html" for number, _ in enumerate(comparison.pairs, 1)]
    with whole_folder(folder) as partial:
        (partial / _PAIRS).mkdir()
        for found, page in zip(comparison.pairs, pages, strict=True):
            _write(partial / page, pair_page(assignment, found, redacted))
        index = report / INDEX
        class_page = os.path.relpath(index, folder) if index.is_file() else ""
        _write(partial / INDEX, alike_page(assignment, comparison, pages, class_page))
    return folder / INDEX


def _write(path: Path, content: str) -> None:
    path.write_text(content, encoding="utf-8", newline="\n")
