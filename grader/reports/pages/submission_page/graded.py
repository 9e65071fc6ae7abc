"""A grade with what every page says of it, worked out once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from grader.core.causes import Cause
from grader.core.verdict import Grade, Verdict
from grader.reports.account import causes_of
from grader.reports.complaints import complaints
from grader.reports.credited import credited_tests
from grader.reports.pages.page_names import page_name
from grader.reports.standing import ExerciseStanding, by_exercise, standing_of


@dataclass(frozen=True, slots=True)
class Graded:
    """A grade, the name of its page's file, how it stands in each exercise, what went wrong.

    `complete` says whether every test was judged; `tests` are the verdicts of each exercise, with
    what came back among their scores, as it is in what causes cost.
    """

    grade: Grade
    page: str
    complete: bool
    tests: Mapping[str, Sequence[Verdict]]
    exercises: Sequence[ExerciseStanding]
    causes: Sequence[Cause]
    words: str

    @classmethod
    def of(cls, grade: Grade) -> Graded:
        """What there is to say of a grade."""
        exercises = [standing_of(of_one) for of_one in by_exercise(grade.tests).values()]
        credited = credited_tests(grade)
        tests, causes = by_exercise(credited), causes_of(credited)
        words = complaints(grade, causes)
        return cls(grade, page_name(grade), grade.is_complete, tests, exercises, causes, words)
