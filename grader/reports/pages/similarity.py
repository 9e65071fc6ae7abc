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


@dataclass(frozen=True, slots=True)
class PairRow:
    """A row of the list of pairs: both names, shares in percent, and the pair's page."""

    one: str
    other: str
    origin: str
    alikeness: int
    share_of_one: int
    share_of_other: int
    lines: int
    page: str


def alike_page(
    assignment: str, comparison: SimilarPairs, rows: list[PairRow], class_page: str
) -> str:
    """Returns the list of pairs.

    `class_page` is the path of the page of the class, or "".
    """
    return render(
        "alike.html.jinja",
        assets=assets(_STYLES, _SCRIPTS),
        assignment=one_line(assignment),
        rows=rows,
        usual=percent(comparison.usual),
        read=comparison.read,
        others=comparison.others,
        remarks=[one_line(remark, 600) for remark in comparison.remarks],
        class_page=class_page,
    )


def percent(share: float) -> int:
    """Returns a share in whole percent, from 0 to 100."""
    return round(100 * min(max(share, 0.0), 1.0))


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


def pair_page(assignment: str, found: SideBySide, row: PairRow, redacted: Redacted) -> str:
    """Returns the page of a pair; `redacted` is applied to the texts of both submissions."""
    columns = [
        _column(
            "abc"[place],
            (row.one, row.other)[place],
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
        row=row,
        columns=columns,
        few=_FEW,
        passages=[
            (number, _where(p.one, found.sources[0], redacted), p.fewest)
            for number, p in enumerate(found.passages, 1)
        ],
    )


def lines_in_common(found: SideBySide) -> int:
    """Returns the number of the first submission's lines that are in common passages."""
    return len(_marked([passage.one for passage in found.passages]))


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
            shown = plain(text.replace("\n", " "))[:_LONGEST_LINE]
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
    rows = [_row(found, number) for number, found in enumerate(comparison.pairs, 1)]
    with whole_folder(folder) as partial:
        (partial / _PAIRS).mkdir()
        for found, row in zip(comparison.pairs, rows, strict=True):
            _write(partial / row.page, pair_page(assignment, found, row, redacted))
        index = report / INDEX
        class_page = os.path.relpath(index, folder) if index.is_file() else ""
        _write(partial / INDEX, alike_page(assignment, comparison, rows, class_page))
    return folder / INDEX


def _row(found: SideBySide, number: int) -> PairRow:
    return PairRow(
        one=one_line(found.one.name, 80),
        other=one_line(found.other.name, 80),
        origin=one_line(found.other.origin, 80),
        alikeness=percent(found.pair.alikeness),
        share_of_one=percent(found.pair.share_of_one),
        share_of_other=percent(found.pair.share_of_other),
        lines=lines_in_common(found),
        page=f"{_PAIRS}/{number:03}.html",
    )


def _write(path: Path, content: str) -> None:
    path.write_text(content, encoding="utf-8", newline="\n")
