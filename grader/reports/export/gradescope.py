"""`results.json` of Gradescope ("Output format" in its autograder documentation) and PrairieLearn.

There is one entry for each exercise, because hundreds of tests would be unreadable. All text is
plain: no output of a submission is ever read as HTML or Markdown. PrairieLearn's documentation is
"External grading".
"""

from __future__ import annotations

import enum
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from grader.core.causes import Cause
from grader.core.points import OF_THE_VALUES, hundredths, points_of, scaled, total
from grader.core.text import one_line, plain, points
from grader.core.verdict import Aspect, Grade, GradeStatus, Status, Verdict, Visibility, by_exercise
from grader.reports.single import carried_in_words, credited, credited_tests, without
from grader.reports.standing import (
    OUR_FAULT,
    Standing,
    causes_of,
    complaints,
    feedback,
    shortened,
    standing_of,
)

_FORMATS = {
    "output_format": "text",
    "test_output_format": "text",
    "test_name_format": "text",
    "visibility": "visible",
    "stdout_visibility": "hidden",
}
_LONGEST_REASON = 2000
_COUNTED_BELOW = "Other aspects than values are counted with the further tests."


class VisibleWhen(enum.StrEnum):
    """The times at which students see a result, by Gradescope's names."""

    HIDDEN = "hidden"
    AFTER_DUE_DATE = "after_due_date"
    AFTER_PUBLISHED = "after_published"
    VISIBLE = "visible"


@dataclass(frozen=True, slots=True)
class Display:
    """An instructor's choices on how results are shown.

    `total` is the maximum of the Gradescope assignment, to which points are scaled; None leaves
    them unscaled. `hidden_tests` says when students see the results of hidden tests. Unless that
    is always, Gradescope shows students no total.
    """

    total: float | None = None
    hidden_tests: VisibleWhen = VisibleWhen.VISIBLE
    leaderboard: bool = False

    def scale(self, most: float) -> float:
        """Returns the factor from an assignment's points to Gradescope's; `most` is its maximum."""
        return self.total / most if self.total and most else 1.0


def results(grade: Grade, display: Display) -> dict[str, Any]:
    """Returns the results of a finished grading, with the points that are carried.

    Whether points are carried depends on hidden tests. If these are hidden, entries of their own
    hold the carried points.
    """
    is_kept_back = display.hidden_tests is not VisibleWhen.VISIBLE and any(
        test.visibility is Visibility.HIDDEN for test in grade.tests
    )
    if not is_kept_back:
        grade = credited(grade, display.scale(grade.max_score))
    entries: list[dict[str, Any]] = []
    if grade.status is not GradeStatus.UNREADABLE:
        entries = [*_entries(grade, display), *_carried_entries(grade, display)]
    score = total(entry["score"] for entry in entries)
    if display.total is not None:
        score = min(score, display.total)  # each carried entry is rounded by itself
    found = {
        "score": score,
        "execution_time": round(grade.duration_s, 3),
        "output": _output(grade, display, score),
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
    is_open = display.hidden_tests is VisibleWhen.VISIBLE  # the board shows the total
    if display.leaderboard and is_open and grade.is_complete:
        found["leaderboard"] = [{"name": "points", "value": score, "order": "desc"}]
    return found


def progress(most: float, reached: Sequence[Verdict], display: Display) -> dict[str, Any]:
    """Returns the results so far, which Gradescope finds if grading is cut off now.

    `most` are the points of the exercises. The points include those of hidden tests, so students
    see them only when they see hidden tests.
    """
    earned = total(verdict.score for verdict in reached)
    return {
        "score": points_of(hundredths(earned * display.scale(most))),
        "output": (
            f"Grading was cut off before it ended, after {len(reached)} tests. The points are "
            "what was reached until then and no grade: ask your instructor to have it graded again."
        ),
        **_FORMATS,
        "visibility": display.hidden_tests,
        "tests": [],
    }


def not_graded(reason: str) -> dict[str, Any]:
    """Returns the results of a submission that has no grade, by no fault of its author."""
    return {"score": 0.0, "output": _no_fault_of_yours(reason), **_FORMATS, "tests": []}


def total_points(metadata: str) -> float | None:
    """Returns the assignment's points in the text of `submission_metadata.json`, or None."""
    try:
        most = float(json.loads(metadata)["assignment"]["total_points"])
    except (ValueError, TypeError, LookupError, RecursionError, OverflowError):
        return None
    return most if math.isfinite(most) and most > 0 else None


def _output(grade: Grade, display: Display, score: float) -> str:
    if not grade.is_complete:
        return _no_fault_of_yours(grade.message or "the grader does not say why")
    if grade.status is GradeStatus.UNREADABLE:
        reason = shortened(plain(grade.message or "the reason is unknown"), _LONGEST_REASON)
        return f"Nothing could be graded: {reason}"
    message = [shortened(plain(grade.message), _LONGEST_REASON)] if grade.message else []
    if display.hidden_tests is not VisibleWhen.VISIBLE:
        return "\n\n".join(["The points of each exercise are below.", *message])
    most = grade.max_score if display.total is None else display.total
    reached = f"{points(score)} of {points(most)} points"
    return "\n\n".join([f"{reached}. {plain(complaints(grade))}", *message])


def _no_fault_of_yours(reason: str) -> str:
    return (
        f"NOT GRADED, {OUR_FAULT}, not by yours: "
        f"{shortened(plain(reason), _LONGEST_REASON)}\n\n"
        "The points here are no grade. Ask your instructor to have it graded again."
    )


@dataclass(frozen=True, slots=True)
class _Part:
    """The content of an entry: the verdicts that it describes, and the verdicts that it counts."""

    name: str
    number: str
    told: Sequence[Verdict]
    counted: Sequence[Verdict]
    shown: VisibleWhen = VisibleWhen.VISIBLE
    remark: str = ""


def _entries(grade: Grade, display: Display) -> list[dict[str, Any]]:
    parts = [*_parts(grade, display)]
    earned = [
        (total(v.score for v in part.counted), total(v.max_score for v in part.counted))
        for part in parts
    ]
    known = {display.hidden_tests: causes_of(grade.tests)}
    public = (test for test in grade.tests if test.visibility is Visibility.PUBLIC)
    known.setdefault(VisibleWhen.VISIBLE, causes_of(_ungated(public)))
    scale = display.scale(grade.max_score)
    return [
        _entry(part, known[part.shown], *reached, scale)
        for part, reached in zip(parts, scaled(earned, display.total), strict=True)
    ]


def _carried_entries(grade: Grade, display: Display) -> Iterator[dict[str, Any]]:
    """Yields an entry for each exercise with carried points, shown when hidden tests are."""
    numbers = {name: number for number, name in enumerate(by_exercise(grade.tests), 1)}
    scale, tests = display.scale(grade.max_score), credited_tests(grade)
    for one in grade.carried:
        scaled_one = replace(one, points=points_of(hundredths(one.points * scale)))
        yield {
            "name": f"{one_line(one.exercise)}, points given back",
            "number": f"{numbers[one.exercise]}.3",
            "score": scaled_one.points,
            "max_score": scaled_one.points,
            "status": "passed",
            "output": carried_in_words(scaled_one, tests),
            "visibility": display.hidden_tests,
        }


def _parts(grade: Grade, display: Display) -> Iterator[_Part]:
    for number, (exercise, verdicts) in enumerate(by_exercise(grade.tests).items(), 1):
        name = one_line(exercise)
        if display.hidden_tests is VisibleWhen.VISIBLE:
            yield _Part(name, str(number), verdicts, verdicts)
        else:
            yield from _parted(name, number, verdicts, display.hidden_tests)


def _parted(
    name: str, number: int, verdicts: Sequence[Verdict], shown: VisibleWhen
) -> Iterator[_Part]:
    """Yields a part of the public tests, and a part of the hidden tests.

    Other aspects of an exercise count only in proportion to its correct values. If some tests of
    values are hidden, public tests of other aspects are counted in the hidden part. Otherwise their
    points would reveal the hidden results.
    """
    public = [verdict for verdict in verdicts if verdict.visibility is Visibility.PUBLIC]
    hidden = [verdict for verdict in verdicts if verdict.visibility is Visibility.HIDDEN]
    by_values = [verdict for verdict in public if verdict.aspect is Aspect.VALUES]
    sure = by_values if any(test.aspect is Aspect.VALUES for test in hidden) else public
    later = [verdict for verdict in public if verdict not in sure]
    if public:
        title, remark = f"{name}, the tests that you have", _COUNTED_BELOW if later else ""
        told = [*_ungated(public)] if later else public
        yield _Part(title, f"{number}.1", told, sure, remark=remark)
    if hidden:
        title = f"{name}, further tests"
        yield _Part(title, f"{number}.2", hidden, [*hidden, *later], shown)


def _ungated(verdicts: Iterable[Verdict]) -> Iterator[Verdict]:
    """Yields the verdicts without what their exercise's values cost them, in points and words."""
    for verdict in verdicts:
        score = verdict.max_score if verdict.status is Status.PASSED else verdict.score
        yield verdict._replace(message=without(verdict.message, OF_THE_VALUES), score=score)


def _entry(
    part: _Part, causes: Sequence[Cause], score: float, most: float, scale: float
) -> dict[str, Any]:
    standing = standing_of(part.told)
    mistakes = dict.fromkeys(v.diagnosis.mistake for v in part.told if v.diagnosis)
    return {
        "name": part.name,
        "number": part.number,
        "score": score,
        "max_score": most,
        "status": "passed" if standing.standing is Standing.FULL else "failed",
        "output": "\n\n".join(filter(None, [feedback(part.told, causes, scale), part.remark])),
        "visibility": part.shown,
        "tags": [str(aspect) for aspect in standing.lacking],
        "extra_data": {"mistakes": [one_line(mistake) for mistake in mistakes]},
    }


# The file may have 1 MB; escaped for JSON, a character takes up to twelve bytes.
_ALL_OUTPUTS = 900_000 // 12
_MESSAGE = 2000


def prairielearn_results(grade: Grade) -> dict[str, Any]:
    """Returns the results as an object with a test for each exercise.

    A submission that is unreadable or not graded is marked as not gradable, which costs no attempt.
    """
    if not grade.is_complete:
        reason = shortened(plain(grade.message or "the grader does not say why"), _MESSAGE)
        fault = f"Not graded, {OUR_FAULT}: {reason}"
        return {"gradable": False, "message": fault}
    if grade.status is GradeStatus.UNREADABLE:
        reason = shortened(plain(grade.message or "the reason is unknown"), _MESSAGE)
        return {"gradable": False, "format_errors": [reason]}
    exercises, found = by_exercise(grade.tests), causes_of(grade.tests)
    longest = _ALL_OUTPUTS // max(len(exercises), 1)
    most = hundredths(grade.max_score)
    return {
        "gradable": True,
        # Rounded down to 0.01 %, so that only full points give 1.
        "score": hundredths(grade.score) * 10_000 // most / 10_000 if most else 0.0,
        "message": plain(complaints(grade, found)),
        "tests": [
            {
                "name": one_line(exercise),
                "description": standing_of(verdicts).words,
                "points": standing_of(verdicts).score,
                "max_points": standing_of(verdicts).max_score,
                "output": shortened(feedback(verdicts, found), longest),
            }
            for exercise, verdicts in exercises.items()
        ],
    }
