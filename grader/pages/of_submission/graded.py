"""A grade with what every page says of it, worked out once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from grader.causes import Cause
from grader.pages.page_names import page_name
from grader.report.account import causes_of
from grader.report.complaints import complaints
from grader.report.standing import ExerciseStanding, by_exercise, standing_of
from grader.verdict import Grade, Verdict


@dataclass(frozen=True, slots=True)
class Graded:
    """A grade, the name of its page's file, how it stands in each exercise, what went wrong.

    `complete` says whether every test was judged; `tests` are the verdicts of each exercise.
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
        tests = by_exercise(grade.tests)
        exercises = [standing_of(of_one) for of_one in tests.values()]
        causes = causes_of(grade.tests)
        words = complaints(grade, causes)
        return cls(grade, page_name(grade), grade.is_complete, tests, exercises, causes, words)
