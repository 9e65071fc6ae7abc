"""The report: a folder of pages, written whole or not at all, and the page of the class in it.

The page of the class is for instructors only.
"""

from __future__ import annotations

import datetime
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.core.points import hundredths
from grader.core.text import one_line
from grader.core.verdict import GradeStatus
from grader.reports.package_needs import missing_in_words
from grader.reports.pages.changes import Changes, changes_page
from grader.reports.pages.class_data import ClassData
from grader.reports.pages.graded import Graded, ranked
from grader.reports.pages.open_decisions import (
    OpenDecision,
    by_words,
    open_decisions,
    unnamed_clusters,
)
from grader.reports.pages.rendering import (
    INDEX,
    as_json,
    assets,
    render,
    whole_folder,
)
from grader.reports.pages.submission_page import submission_page
from grader.reports.summary import absent_in_words
from grader.results.decisions.opening import open_settling
from grader.results.decisions.settling import Settling
from grader.results.results import Results

_STYLES = ("vendor/uPlot.min.css", "assets/page.css", "assets/class.css")
_SCRIPTS = (
    "vendor/uPlot.iife.min.js",
    "assets/theme.js",
    "assets/drawing.js",
    "assets/list.js",
    "assets/plots.js",
    "assets/class.js",
)

_BINS = 20


def class_page(
    results: Results,
    settling: Settling,
    found: ClassData,
    decisions: Sequence[OpenDecision],
    compared: bool,
) -> str:
    """Returns the page of a class; a report that `compared` two batches has another page."""
    mistakes = ranked(found.counts.mistakes.values())
    others = ranked(found.counts.others.values())
    remarks = ranked(found.counts.remarks.values())
    kinds = [*mistakes, *others, *remarks]
    statuses = Counter(entry.status for entry in found.entries)
    most = max((entry.max_score for entry in found.entries), default=0.0)
    histogram = _histogram(found.scores, most)
    return render(
        "class.html.jinja",
        assets=assets(_STYLES, _SCRIPTS),
        assignment=one_line(results.assignment),
        written=datetime.datetime.now().astimezone(),
        compared=compared,
        entries=found.entries,
        lacking=missing_in_words(results.lacking_packages()),
        decisions=decisions,
        folder=one_line(str(results.folder)),
        not_graded=statuses[GradeStatus.NOT_GRADED],
        unreadable=statuses[GradeStatus.UNREADABLE],
        changed=any(entry.changed or entry.marks for entry in found.entries),
        late=any(entry.late for entry in found.entries),
        notes=by_words((found.entries[place], note) for place, note in found.notes),
        failed_tests=found.failed_tests(),
        absentees=absent_in_words(settling),
        most=most,
        spread=_spread(found.scores, most),
        histogram=histogram[:_BINS],
        above=sum(histogram[_BINS:]),
        exercises=list(found.exercises.values()),
        mistakes=mistakes,
        others=others,
        remarks=remarks,
        data=as_json(found.columns(kinds) | {"histogram": histogram, "bins": _BINS}),
    )


def _spread(scores: Sequence[float], most: float) -> dict[str, float]:
    """Returns the scores of a class in a few numbers; none if there are no scores."""
    if not scores:
        return {}
    return {
        "mean": statistics.fmean(scores),
        "median": statistics.median(scores),
        "full": sum(score >= most for score in scores),
    }


def _histogram(scores: Iterable[float], most: float) -> list[int]:
    """Returns how many scores lie in each of `_BINS` equal parts; the last includes full scores.

    A further part holds the scores above the maximum, if there are any.
    """
    counts, whole = [0] * (_BINS + 1), hundredths(most)
    for reached in map(hundredths, scores):
        place = min(reached * _BINS // whole, _BINS - 1) if whole else 0
        counts[_BINS if reached > whole else place] += 1
    return counts if counts[_BINS] else counts[:_BINS]


CHANGES = "changes.html"
SUBMISSIONS = "submissions"
# Read a few grades at a time, so that a writer to the store never waits for a whole report.
_READ_AT_ONCE = 50


@dataclass(frozen=True, slots=True)
class Report:
    """A written report: its first page, and the changes if two batches were compared.

    `decisions` are the open ones in words, each with the command that decides it.
    """

    index: Path
    decisions: Sequence[tuple[str, str]] = ()
    changes: Changes | None = None


def write_report(results: Results, folder: Path, against: Results | None = None) -> Report:
    """Writes the pages of a batch in place of an earlier report in `folder`.

    With `against`, another batch over the same class, one page shows the changes since then. Only
    `folder` is written to.

    Raises:
        BadDecisions: if the decisions about these grades cannot be used.
        NotWritten: if `folder` holds anything but a report, or the disk refuses.
        StoreError: if results cannot be read.
    """
    settling = open_settling(results)
    with whole_folder(folder) as partial:
        decisions, changes = _write(results, settling, partial, against)
    return Report(folder / INDEX, decisions, changes)


def _write(
    results: Results,
    settling: Settling,
    folder: Path,
    against: Results | None,
) -> tuple[Sequence[tuple[str, str]], Changes | None]:
    pages = folder / SUBMISSIONS
    pages.mkdir()
    names = results.submissions()
    found, changes = ClassData(), Changes() if against else None
    for first in range(0, len(names), _READ_AT_ONCE):
        part = names[first : first + _READ_AT_ONCE]
        earlier = {grade.submission: grade for grade in against.grades_of(part)} if against else {}
        for grade in results.grades_of(part, whole=True):
            name, graded = grade.submission, Graded.of(grade)
            settled = settling.settle(grade)
            content = submission_page(results.assignment, graded, grade.evidence, settled)
            (pages / graded.page).write_text(content, encoding="utf-8", newline="\n")
            found.add(graded, settling.handed_in.get(name, ()), settled)
            if changes is not None:
                changes.add(graded, earlier.get(name))
    if changes is not None and against is not None:
        still = frozenset(names)
        changes.add_gone(name for name in against.submissions() if name not in still)
        content = changes_page(results.assignment, changes)
        (folder / CHANGES).write_text(content, encoding="utf-8", newline="\n")
    decisions = open_decisions(found, settling, unnamed_clusters(results))
    content = class_page(results, settling, found, decisions, bool(changes))
    (folder / INDEX).write_text(content, encoding="utf-8", newline="\n")
    return [one.in_short for one in decisions], changes
