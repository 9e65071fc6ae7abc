"""The folder of pages on what submissions have in common, written as a whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from grader.core.text import one_line
from grader.reports.pages.alike_page import PairRow, alike_page, percent
from grader.reports.pages.pair_page import Redacted, lines_in_common, pair_page
from grader.reports.pages.whole_folder import INDEX, whole_folder
from grader.reports.similarity.comparing import SideBySide, SimilarPairs

_PAIRS = "pairs"


def write_alike(
    assignment: str,
    comparison: SimilarPairs,
    folder: Path,
    report: Path,
    redacted: Redacted = str,
) -> Path:
    """Writes the list of pairs and a page for each, in place of those in `folder`; its index.

    `report` is the folder of the class's report, which is linked to if it is there. `redacted` is
    what becomes of the texts of submissions.

    Raises:
        NotWritten: if something else lies there, or the disk refuses.
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
