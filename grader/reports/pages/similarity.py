"""The pages of the most similar pairs of a class, for instructors only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from grader.core.text import one_line, plain
from grader.reports.pages.rendering import INDEX, assets, render, whole_folder
from grader.reports.similarity.comparison import SideBySide, SimilarPairs
from grader.reports.similarity.sources import ComparedSources, LineRange

_STYLES = ("assets/page.css", "assets/alike.css")
_SCRIPTS = ("assets/theme.js",)


def alike_page(assignment: str, comparison: SimilarPairs, pages: Sequence[str]) -> str:
    """Returns the list of pairs, whose pages are at these paths."""
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
    )


_MOST_LINES = 4000
_LONGEST_LINE = 400
Redacted = Callable[[str], str]


# A line of code: its number and its text, the number of its passage or 0, and whether the passage
# begins there.
PassageLine = tuple[int, str, int, bool]


def pair_page(assignment: str, found: SideBySide, redacted: Redacted) -> str:
    """Returns the page of a pair; `redacted` is applied to the texts of both submissions."""
    columns = [
        (
            side,
            one_line(one.name, 80),
            *_files(sources, own, redacted),
        )
        for side, one, sources, own in (
            ("a", found.one, found.sources[0], [p.one for p in found.passages]),
            ("b", found.other, found.sources[1], [p.other for p in found.passages]),
        )
    ]
    return render(
        "pair.html.jinja",
        assets=assets(_STYLES, _SCRIPTS),
        assignment=one_line(assignment),
        found=found,
        columns=columns,
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


def _files(
    sources: ComparedSources,
    stretches: Sequence[LineRange],
    redacted: Redacted,
) -> tuple[list[tuple[str, list[PassageLine]]], int]:
    """Returns the files of a submission with their lines, and how many lines are left out."""
    marked, begun = _marked(stretches), set[int]()
    files: list[tuple[str, list[PassageLine]]] = []
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
            lines.append((number, shown, passage, begins))
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
