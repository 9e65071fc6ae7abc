"""The page of the class, for instructors only."""

from __future__ import annotations

import datetime
import json
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from grader.core.submission import ClassImports
from grader.core.text import one_line
from grader.core.verdict import GradeStatus
from grader.reports.environment import lacking_in_words
from grader.reports.pages.class_data import BINS, ClassData, person_in_words
from grader.reports.pages.class_needs import OpenDecision, UnknownCluster, by_words
from grader.reports.pages.graded import ranked
from grader.reports.pages.rendering import as_json, assets, render
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

_EPSILON = 1e-6


@dataclass(frozen=True, slots=True)
class ScoreSpread:
    """The scores of a class in a few numbers."""

    mean: float
    median: float
    deviation: float
    quartiles: tuple[float, float]
    full: int


def class_page(
    results: Results,
    found: ClassData,
    imports: ClassImports,
    compared: bool,
    made_of: str,
    alike: str,
    groups: Sequence[UnknownCluster],
    open_decisions: Sequence[OpenDecision],
) -> str:
    """Returns the page of a class; `compared` if there is a page of what changed beside it.

    `alike` is where the page of who has code in common lies, if there is one.

    `groups` answer alike without a known mistake; `open_decisions` wait for the instructor.

    `made_of` names what it was made of, for who wants to know whether it is still current.
    """
    mistakes, unlisted_mistakes = ranked(found.counts.mistakes.values())
    others, unlisted_others = ranked(found.counts.others.values())
    remarks, unlisted_remarks = ranked(found.counts.remarks.values())
    kinds = [*mistakes, *others, *remarks]
    most = max((entry.max_score for entry in found.entries), default=0.0)
    return render(
        "class.html.jinja",
        assets=assets(_STYLES, _SCRIPTS),
        assignment=one_line(results.assignment),
        written=datetime.datetime.now().astimezone(),
        compared=compared,
        alike=alike,
        made_of=made_of,
        entries=found.entries,
        lacking=lacking_in_words(imports.lacking),
        needs=open_decisions,
        needs_in_short=json.dumps([one.in_short for one in open_decisions]),
        nameless=groups,
        folder=one_line(str(results.folder)),
        not_graded=len(found.places(GradeStatus.NOT_GRADED)),
        unreadable=len(found.places(GradeStatus.UNREADABLE)),
        changed=any(entry.changed or entry.marks for entry in found.entries),
        late=any(entry.late for entry in found.entries),
        notes=by_words((found.entries[place], note) for place, note in found.notes),
        failed_tests=found.failed_tests(),
        absentees=[person_in_words(author) for author in results.absentees],
        most=most,
        spread=_spread(found.scores, most),
        histogram=_histogram(found.scores, most),
        exercises=list(found.exercises.values()),
        mistakes=mistakes,
        others=others,
        remarks=remarks,
        unlisted=(unlisted_mistakes, unlisted_others, unlisted_remarks),
        data=as_json(found.columns(kinds) | {"histogram": _histogram(found.scores, most)}),
    )


def _spread(scores: Sequence[float], most: float) -> ScoreSpread | None:
    if not scores:
        return None
    deviation = statistics.stdev(scores) if len(scores) > 1 else 0.0
    low, high = scores[0], scores[0]
    if len(scores) > 1:
        low, _, high = statistics.quantiles(scores, n=4, method="inclusive")
    full = sum(score > most - _EPSILON for score in scores)
    return ScoreSpread(
        statistics.fmean(scores), statistics.median(scores), deviation, (low, high), full
    )


def _histogram(scores: Iterable[float], most: float) -> list[int]:
    """Returns how many scores lie in each of `BINS` equal parts.

    The last holds the full score too.
    """
    counts = [0] * BINS
    for score in scores:
        share = score / most if most else 0.0
        counts[min(max(int(share * BINS), 0), BINS - 1)] += 1
    return counts
