"""PrairieLearn's `results.json` (PrairieLearn's documentation, "External grading")."""

from __future__ import annotations

from typing import Any

from grader.core.points import hundredths
from grader.core.text import one_line, plain
from grader.core.verdict import Grade, GradeStatus
from grader.reports.cause_text import causes_of, complaints
from grader.reports.standing import by_exercise, feedback, shortened, standing_of

# The file may have 1 MB; escaped for JSON, a character takes up to twelve bytes.
_ALL_OUTPUTS = 900_000 // 12
_MESSAGE = 2000


def prairielearn_results(grade: Grade) -> dict[str, Any]:
    """Returns the results as an object: every test has its points, or there is no test.

    What could not be graded is not gradable, which costs no attempt.
    """
    if not grade.is_complete:
        reason = shortened(plain(grade.message or "the grader does not say why"), _MESSAGE)
        fault = f"Not graded, by the machine's fault or the grader's: {reason}"
        return {"gradable": False, "message": fault}
    if grade.status is GradeStatus.UNREADABLE:
        reason = shortened(plain(grade.message or "nothing is known of why"), _MESSAGE)
        return {"gradable": False, "format_errors": [reason]}
    exercises, found = by_exercise(grade.tests), causes_of(grade.tests)
    longest = _ALL_OUTPUTS // max(len(exercises), 1)
    return {
        "gradable": True,
        "score": _share(grade),
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


def _share(grade: Grade) -> float:
    """Returns the share of the points, to a hundredth of a percent; 1 only if no point is
    lacking.
    """
    most = hundredths(grade.max_score)
    return hundredths(grade.score) * 10_000 // most / 10_000 if most else 0.0
