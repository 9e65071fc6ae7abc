"""The page of the most alike pairs of a class, for instructors only."""

from __future__ import annotations

from dataclasses import dataclass

from grader.core.text import one_line
from grader.reports.pages.rendering import assets, render
from grader.reports.similarity.comparing import SimilarPairs

_STYLES = ("assets/page.css", "assets/alike.css")
_SCRIPTS = ("assets/theme.js",)


@dataclass(frozen=True, slots=True)
class PairRow:
    """A pair in the list: the names of both, numbers as percentages, and its page."""

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
    """The list of pairs; `class_page` is where the page of the class lies, if there is one."""
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
    """A share as a whole number of hundredths."""
    return round(100 * min(max(share, 0.0), 1.0))
