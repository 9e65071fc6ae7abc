"""The points of each person of a class, without the tests: small enough to hold a whole class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from grader.core.points import points_of
from grader.core.submission import Author
from grader.core.verdict import Grade, GradeStatus
from grader.reports.cause_text import complaints
from grader.results.decisions.settlement import Settlement, in_words
from grader.results.decisions.settling import Settling
from grader.results.results import Results


@dataclass(frozen=True, slots=True)
class Points:
    """The points that somebody got, and the most that were possible."""

    got: float
    of: float

    def scaled(self, of: float | None) -> float:
        """Returns the points out of `of`; as they are if there is nothing to scale them to."""
        return self.got * of / self.of if of and self.of else self.got


@dataclass(frozen=True, slots=True)
class Score:
    """The points of some people for a submission; a grade of only a part has no points.

    `words` say what went wrong; `suite` is the hash of the tests that judged it.
    """

    settlement: Settlement
    words: str
    suite: str

    @property
    def submission(self) -> str:
        """Returns the submission's name."""
        return self.settlement.submission

    @property
    def people(self) -> tuple[Author, ...]:
        """Returns the people who get the points; where nobody is known, the submission's name
        stands in.
        """
        return self.settlement.people

    @property
    def status(self) -> GradeStatus:
        """Returns how grading ended."""
        return self.settlement.status

    @property
    def total(self) -> Points | None:
        """Returns the final points."""
        final = self.settlement.final
        return None if final is None else Points(final, points_of(self.settlement.worth))

    @property
    def exercises(self) -> dict[str, Points]:
        """Returns the final points in parts that add up to the total."""
        if not self.settlement.has_points:
            return {}
        return {
            name: Points(points_of(part), points_of(self.settlement.exercises[name].worth))
            for name, part in self.settlement.by_exercise().items()
        }

    @property
    def feedback(self) -> str:
        """Returns the feedback for the people: the comments, the changes, and what went wrong."""
        changed = [in_words(change) for change in self.settlement.changes]
        return "; ".join([*self.settlement.comments, *changed, self.words])


@dataclass(frozen=True, slots=True)
class ClassScores:
    """The scores of a class, in its order, and who of a roster handed in nothing.

    `excused` are those of the latter who need not have, and why; `unsure` says of submissions why
    it is not certain whose they are.
    """

    assignment: str
    scores: tuple[Score, ...]
    absentees: tuple[Author, ...] = ()
    excused: Mapping[Author, str] = field(default_factory=dict)
    unsure: Mapping[str, str] = field(default_factory=dict)

    @property
    def max_score(self) -> float | None:
        """Returns the points that the assignment is worth, as far as something was graded."""
        return max((score.total.of for score in self.scores if score.total), default=None)

    @property
    def exercises(self) -> dict[str, float]:
        """Returns the points that each exercise is worth, in the order of the tests."""
        worth: dict[str, float] = {}
        for score in self.scores:
            for name, each in score.settlement.exercises.items():
                worth[name] = max(points_of(each.worth), worth.get(name, 0.0))
        return worth


def scores_of(grade: Grade, settling: Settling) -> tuple[Score, ...]:
    """Returns the scores of one grade: one, unless its people get different points."""
    words = complaints(grade)
    return tuple(Score(own, words, grade.suite_hash) for own in settling.settle(grade))


def scored(
    results: Results, settling: Settling, scores: list[Score]
) -> Iterator[tuple[Grade, tuple[Score, ...]]]:
    """Yields each grade with its score, and records the score in `scores`."""
    for grade in results.grades():
        own = scores_of(grade, settling)
        scores += own
        yield grade, own


def class_scores(results: Results, settling: Settling) -> ClassScores:
    """Returns the scores of all grades in a folder."""
    told = (scores_of(grade, settling) for grade in results.told_grades())
    scores = [score for own in told for score in own]
    return collected(results, settling, scores)


def collected(results: Results, settling: Settling, scores: list[Score]) -> ClassScores:
    """Returns a class whose scores are known."""
    reasons = {person: settling.excused(person) for person in settling.absentees}
    excused = {person: why for person, why in reasons.items() if why}
    absentees, unsure = settling.absentees, settling.unsure
    return ClassScores(results.assignment, tuple(scores), absentees, excused, unsure)
