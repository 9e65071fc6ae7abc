"""What each submission of a class got, without its tests: small enough to hold a class of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from grader.report.complaints import complaints
from grader.report.standing import standings
from grader.store import Results
from grader.submission import Author
from grader.verdict import Grade, GradeStatus


@dataclass(frozen=True, slots=True)
class Points:
    """So many points of so many."""

    got: float
    of: float

    def scaled(self, of: float | None) -> float:
        """The points out of `of`; as they are if there is nothing to scale them to."""
        return self.got * of / self.of if of and self.of else self.got


@dataclass(frozen=True, slots=True)
class Score:
    """What a submission got; what was graded in part only is *not graded*, and has no points.

    `words` say what went wrong; `suite` is the hash of the tests that judged it.
    """

    submission: str
    authors: tuple[Author, ...]
    late: bool
    status: GradeStatus
    total: Points | None
    exercises: Mapping[str, Points]
    words: str
    suite: str

    @property
    def people(self) -> tuple[Author, ...]:
        """Who gets the points; where nobody is known, the submission's name stands for them."""
        return self.authors or (Author(name=self.submission),)


@dataclass(frozen=True, slots=True)
class ClassScores:
    """The scores of a class, in its order, and who of a roster handed in nothing."""

    assignment: str
    scores: tuple[Score, ...]
    absentees: tuple[Author, ...] = ()

    @property
    def max_score(self) -> float | None:
        """What the assignment is worth, as far as something was graded."""
        return max((score.total.of for score in self.scores if score.total), default=None)

    @property
    def exercises(self) -> dict[str, float]:
        """What each exercise is worth, in the order of the tests."""
        worth: dict[str, float] = {}
        for score in self.scores:
            for exercise, points in score.exercises.items():
                worth[exercise] = max(points.of, worth.get(exercise, 0.0))
        return worth


def score_of(grade: Grade, authors: tuple[Author, ...] = (), late: bool = False) -> Score:
    """The score of one grade."""
    complete = grade.is_complete
    return Score(
        submission=grade.submission,
        authors=authors,
        late=late,
        status=grade.status if complete else GradeStatus.NOT_GRADED,
        total=Points(grade.score, grade.max_score) if complete else None,
        exercises=exercise_points(grade) if complete else {},
        words=complaints(grade),
        suite=grade.suite_hash,
    )


def exercise_points(grade: Grade) -> dict[str, Points]:
    """The points of each exercise, in the order of the tests."""
    return {each.exercise: Points(each.score, each.max_score) for each in standings(grade)}


def scored(results: Results, scores: list[Score]) -> Iterator[Grade]:
    """The grades, one at a time, while the score of each is put down in `scores`."""
    for grade in results.grades():
        name = grade.submission
        scores.append(score_of(grade, results.authors.get(name, ()), name in results.late))
        yield grade


def class_scores(results: Results) -> ClassScores:
    """The scores of all grades in a folder."""
    scores: list[Score] = []
    for _ in scored(results, scores):
        pass
    return ClassScores(results.assignment, tuple(scores), results.absentees)
