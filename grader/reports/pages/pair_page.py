"""Two submissions side by side: all of their code, with what both have marked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from grader.core.plain_text import plain
from grader.core.text import one_line
from grader.reports.pages.alike_page import PairRow
from grader.reports.pages.rendering import assets, render
from grader.reports.similarity.comparing import SideBySide
from grader.reports.similarity.passages import LineRange
from grader.reports.similarity.sources import ComparedSources

_STYLES = ("assets/page.css", "assets/alike.css")
_SCRIPTS = ("assets/theme.js",)
_MOST_LINES = 4000
_LONGEST_LINE = 400
# What so many have beside these two is less telling than what these two alone have.
_FEW = 3
Redacted = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class PassageLine:
    """A line of code; `passage` is the number of the passage that it is in, 0 for none.

    `begins` says whether that one begins here; `few` whether few others have it.
    """

    number: int
    text: str
    passage: int
    begins: bool
    few: bool


@dataclass(frozen=True, slots=True)
class Column:
    """One side: the submission's name, and its files with their lines."""

    side: str
    opposite: str
    name: str
    files: tuple[tuple[str, tuple[PassageLine, ...]], ...]
    left_out: int


def pair_page(assignment: str, found: SideBySide, row: PairRow, redacted: Redacted) -> str:
    """The page of a pair; `redacted` is what becomes of the texts of both."""
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
    """How many lines of the first one lie in passages that both have."""
    return len(_marked([passage.one for passage in found.passages]))


def _where(stretch: LineRange, sources: ComparedSources, redacted: Redacted) -> str:
    name = one_line(redacted(sources.files[stretch.file].name))
    return f"{name}, lines {stretch.first} to {stretch.last}"


def _marked(stretches: Iterable[LineRange]) -> Mapping[tuple[int, int], int]:
    """By file and line, the number of the passage; of several the first."""
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
