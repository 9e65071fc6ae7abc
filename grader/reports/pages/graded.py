"""A grade with the data that its pages show, and the counts of a class's problems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

from grader.core.causes import Cause, FailedTest, without_numbers
from grader.core.points import OF_THE_VALUES, TAKEN_OFF
from grader.core.text import one_line, plain
from grader.core.verdict import Grade, Status, Verdict, by_exercise
from grader.reports.pages.rendering import page_name
from grader.reports.single import credited_tests, without
from grader.reports.standing import (
    ExerciseStanding,
    causes_of,
    complaint,
    notes,
    phrases,
    standings,
)
from grader.results.decisions.settlement import Settlement

_SHORT = 72


@dataclass(frozen=True, slots=True)
class Graded:
    """A grade with its page's file name, its standings, its causes, and these in words.

    `tests` are the verdicts of each exercise. Their scores and the costs of causes include the
    points that exercises get back. `phrases` are the first causes in words, and `short` is the very
    first one.
    """

    grade: Grade
    page: str
    tests: Mapping[str, Sequence[Verdict]]
    exercises: Sequence[ExerciseStanding]
    causes: Sequence[Cause]
    phrases: Sequence[str]
    short: str

    @classmethod
    def of(cls, grade: Grade) -> Graded:
        """Returns a grade with the data that a page shows."""
        exercises = standings(grade)
        credited = credited_tests(grade)
        tests, causes = by_exercise(credited), causes_of(credited, grade.carried)
        said, short = phrases(grade, causes), complaint(grade, _SHORT, causes)
        return cls(grade, page_name(grade), tests, exercises, causes, said, short)

    def after_decisions(self, settled: Settlement) -> Graded:
        """Returns the grade without the costs in exercises whose points a decision changed."""
        decided = settled.decided
        causes = [
            replace(cause, tests=tuple(_costing(test, decided) for test in cause.tests))
            for cause in self.causes
        ]
        tests = {
            name: [_without_cost(test) if name in decided else test for test in own]
            for name, own in self.tests.items()
        }
        return replace(self, causes=causes, tests=tests)


def _costing(test: FailedTest, decided: Set[str]) -> FailedTest:
    return replace(test, lost=0.0) if test.exercise in decided else test


def _without_cost(test: Verdict) -> Verdict:
    return test._replace(message=without(test.message, OF_THE_VALUES, TAKEN_OFF))


_LONGEST = 300
# A submission can raise any exception: further kinds are left out.
_MOST = 60


@dataclass(slots=True)
class ProblemCount:
    """One kind of problem: its words, the exercises that have it, and the submissions.

    `who` are the submissions' places in the class. A known mistake has an explanation and a hint.
    """

    words: str
    explanation: str = ""
    hint: str = ""
    exercises: Counter[str] = field(default_factory=Counter)
    who: list[int] = field(default_factory=list)

    @property
    def label(self) -> str:
        """Returns the kind in a list of choices: the sentence, followed by the id."""
        return (
            f"{one_line(self.explanation, 80)} [{self.words}]" if self.explanation else self.words
        )

    def add(self, place: int, exercises: Iterable[str]) -> None:
        """Adds a submission once, with its exercises that have the problem."""
        if place not in self.who[-1:]:
            self.who.append(place)
        self.exercises.update([*exercises])


@dataclass(slots=True)
class ProblemCounts:
    """The counts of known mistakes, of other problems, and of remarks on passed tests."""

    mistakes: dict[str, ProblemCount] = field(default_factory=dict)
    others: dict[str, ProblemCount] = field(default_factory=dict)
    remarks: dict[str, ProblemCount] = field(default_factory=dict)

    def add(self, place: int, graded: Graded) -> None:
        """Adds a graded submission."""
        for cause in graded.causes:
            for exercise in cause.exercises:
                # The root's mistake, if the exercise has none of its own.
                known = cause.mistake_of(exercise) or cause.mistake
                if known is not None:
                    kind, name = self.mistakes, one_line(known.mistake)
                    told = ProblemCount(name, plain(known.explanation), plain(known.hint))
                elif cause.shown.status is Status.MISSING:
                    kind, name, told = self.others, "missing", ProblemCount("missing")
                else:
                    told = ProblemCount(one_line(cause.sentence, _LONGEST))
                    kind, name = self.others, without_numbers(told.words)
                kind.setdefault(name, told).add(place, [exercise])
        for note, verdicts in notes(graded.grade.tests).items():
            if not note.endswith(OF_THE_VALUES):  # wrong values are already counted
                kind = self.others if note.endswith(TAKEN_OFF) else self.remarks
                words = one_line(note, _LONGEST)
                noted = dict.fromkeys(verdict.exercise for verdict in verdicts)
                kind.setdefault(words, ProblemCount(words)).add(place, noted)


def ranked(kinds: Iterable[ProblemCount]) -> list[ProblemCount]:
    """Returns the kinds that most submissions share."""
    return sorted(kinds, key=lambda kind: (-len(kind.who), kind.words))[:_MOST]
