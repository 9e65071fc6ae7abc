"""A grade with what every page says of it, worked out once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from grader.pages.page_names import page_name
from grader.report.complaints import complaints
from grader.report.standing import ExerciseStanding, standings
from grader.verdict import Grade


@dataclass(frozen=True, slots=True)
class Graded:
    """A grade, the name of its page's file, how it stands in each exercise, what went wrong."""

    grade: Grade
    page: str
    exercises: Sequence[ExerciseStanding]
    words: str

    @classmethod
    def of(cls, grade: Grade) -> Graded:
        """What there is to say of a grade."""
        exercises = standings(grade)
        return cls(grade, page_name(grade), exercises, complaints(grade, exercises))
