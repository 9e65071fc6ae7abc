"""Gradescope's `results.json` (Gradescope's autograder documentation, "Output format").

One entry for each exercise, so that nobody drowns in hundreds of tests. Everything is plain text:
nothing that a submission said is ever read as HTML or Markdown.
"""

from __future__ import annotations

import enum
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from grader.plain_text import plain
from grader.report.complaints import complaints
from grader.report.feedback import feedback, shortened
from grader.report.standing import Standing, by_exercise, standing_of
from grader.report.text import one_line, points
from grader.verdict import Grade, GradeStatus, Verdict, Visibility

_FORMATS = {
    "output_format": "text",
    "test_output_format": "text",
    "test_name_format": "text",
    "visibility": "visible",
    "stdout_visibility": "hidden",
}
_LONGEST_REASON = 2000


class Shown(enum.StrEnum):
    """When students see something."""

    HIDDEN = "hidden"
    AFTER_DUE_DATE = "after_due_date"
    AFTER_PUBLISHED = "after_published"
    VISIBLE = "visible"


@dataclass(frozen=True, slots=True)
class Display:
    """How an instructor wants the results shown.

    `total` are the points of the Gradescope assignment, to which the exercises' are scaled; None
    leaves them as they are. `hidden_tests` tells when students see what became of the hidden tests
    of an exercise; unless that is always, Gradescope shows them no total.
    """

    total: float | None = None
    hidden_tests: Shown = Shown.VISIBLE
    leaderboard: bool = False


def results(grade: Grade, display: Display) -> dict[str, Any]:
    """The results of a grading that ended."""
    scale = _scale(display.total, grade.max_score)
    score = _rounded(grade.score * scale)
    entries = [] if grade.status is GradeStatus.UNREADABLE else _entries(grade, display, scale)
    found = {
        "score": score,
        "execution_time": round(grade.duration_s, 3),
        "output": _output(grade, display, scale),
        **_FORMATS,
        "tests": entries,
        "extra_data": {
            "status": grade.status,
            "seed": grade.seed,
            "submission_hash": grade.submission_hash,
            "suite_hash": grade.suite_hash,
            "isolation": dict(grade.isolation),
        },
    }
    if display.leaderboard and grade.is_complete:
        found["leaderboard"] = [{"name": "points", "value": score, "order": "desc"}]
    return found


def progress(
    worth: Mapping[str, float], reached: Sequence[Verdict], display: Display
) -> dict[str, Any]:
    """The results as far as they are known: what Gradescope finds if grading is cut off now.

    `worth` are the points of each exercise. Public and hidden tests are not told apart here, so
    that everything is shown only when the hidden tests are.
    """
    scale = _scale(display.total, sum(worth.values()))
    verdicts = by_exercise(reached)
    entries = []
    for number, (exercise, most) in enumerate(worth.items(), 1):
        own = verdicts.get(exercise, [])
        score = _rounded(sum(verdict.score for verdict in own) * scale)
        entries.append(
            {
                "name": one_line(exercise),
                "number": str(number),
                "score": score,
                "max_score": _rounded(most * scale),
                "status": "passed" if score == _rounded(most * scale) else "failed",
                "output": feedback(own) if own else "grading did not come to this exercise",
                "visibility": display.hidden_tests,
            }
        )
    return {
        "score": _rounded(sum(verdict.score for verdict in reached) * scale),
        "output": (
            f"Grading was cut off before it ended, after {len(reached)} tests. The points are "
            "what was reached until then and no grade: ask your instructor to have it graded again."
        ),
        **_FORMATS,
        "tests": entries,
    }


def not_graded(reason: str) -> dict[str, Any]:
    """The results where there is no grade, by the grader's fault."""
    return {"score": 0.0, "output": _no_fault_of_yours(reason), **_FORMATS, "tests": []}


def total_points(metadata: str) -> float | None:
    """The assignment's points, from the text of `submission_metadata.json`; None if it has none."""
    try:
        total = float(json.loads(metadata)["assignment"]["total_points"])
    except (ValueError, TypeError, LookupError, RecursionError):
        return None
    return total if math.isfinite(total) and total > 0 else None


def _output(grade: Grade, display: Display, scale: float) -> str:
    if not grade.is_complete:
        return _no_fault_of_yours(grade.message or "the grader does not say why")
    if grade.status is GradeStatus.UNREADABLE:
        reason = shortened(plain(grade.message or "nothing is known of why"), _LONGEST_REASON)
        return f"Nothing could be graded: {reason}"
    message = [shortened(plain(grade.message), _LONGEST_REASON)] if grade.message else []
    if display.hidden_tests is not Shown.VISIBLE:
        return "\n\n".join(["What each exercise got is below.", *message])
    score, most = points(grade.score * scale), points(grade.max_score * scale)
    return "\n\n".join([f"{score} of {most} points. {plain(complaints(grade))}", *message])


def _no_fault_of_yours(reason: str) -> str:
    return (
        "NOT GRADED, by the machine's fault or the grader's, not by yours: "
        f"{shortened(plain(reason), _LONGEST_REASON)}\n\n"
        "The points here are no grade. Ask your instructor to have it graded again."
    )


def _entries(grade: Grade, display: Display, scale: float) -> list[dict[str, Any]]:
    entries = []
    for number, (exercise, verdicts) in enumerate(by_exercise(grade.tests).items(), 1):
        if display.hidden_tests is Shown.VISIBLE:
            name = one_line(exercise)
            entries.append(_entry(name, str(number), verdicts, Shown.VISIBLE, scale))
        else:
            entries += _parted(exercise, number, verdicts, display.hidden_tests, scale)
    return entries


def _parted(
    exercise: str, number: int, verdicts: Sequence[Verdict], shown: Shown, scale: float
) -> Iterator[dict[str, Any]]:
    """An entry for the tests that students hold, and one for those that they do not."""
    public = [verdict for verdict in verdicts if verdict.visibility is Visibility.PUBLIC]
    hidden = [verdict for verdict in verdicts if verdict.visibility is Visibility.HIDDEN]
    name = one_line(exercise)
    if public:
        title = f"{name}, the tests that you have"
        yield _entry(title, f"{number}.1", public, Shown.VISIBLE, scale)
    if hidden:
        yield _entry(f"{name}, further tests", f"{number}.2", hidden, shown, scale)


def _entry(
    name: str, number: str, verdicts: Sequence[Verdict], shown: Shown, scale: float
) -> dict[str, Any]:
    standing = standing_of(verdicts)
    mistakes = dict.fromkeys(v.diagnosis.mistake for v in verdicts if v.diagnosis)
    return {
        "name": name,
        "number": number,
        "score": _rounded(standing.score * scale),
        "max_score": _rounded(standing.max_score * scale),
        "status": "passed" if standing.standing is Standing.FULL else "failed",
        "output": feedback(verdicts),
        "visibility": shown,
        "tags": [str(aspect) for aspect in standing.lacking],
        "extra_data": {"mistakes": [one_line(mistake) for mistake in mistakes]},
    }


def _scale(total: float | None, most: float) -> float:
    return total / most if total is not None and most > 0 else 1.0


def _rounded(score: float) -> float:
    return round(score, 4)
