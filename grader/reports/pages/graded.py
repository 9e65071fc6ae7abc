"""A grade with the data that its pages show, and the counts of a class's problems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

from grader.core.causes import Cause, FailedTest, without_numbers
from grader.core.points import OF_THE_VALUES, TAKEN_OFF
from grader.core.text import one_line, plain
from grader.core.verdict import Grade, Verdict, by_exercise
from grader.reports.pages.rendering import page_name
from grader.reports.single import credited_tests, without
from grader.reports.standing import (
    ExerciseStanding,
    Standing,
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
    points that exercises get back. `phrases` are the first causes in words, `told` the same for the
    author; `short` is the very first one.
    """

    grade: Grade
    page: str
    tests: Mapping[str, Sequence[Verdict]]
    exercises: Sequence[ExerciseStanding]
    causes: Sequence[Cause]
    phrases: Sequence[str]
    told: Sequence[str]
    short: str

    @classmethod
    def of(cls, grade: Grade) -> Graded:
        """Returns a grade with the data that a page shows."""
        exercises = standings(grade)
        credited = credited_tests(grade)
        tests, causes = by_exercise(credited), causes_of(credited, grade.carried)
        said, short = phrases(grade, causes), complaint(grade, _SHORT, causes)
        told = phrases(grade, causes, to_author=True)
        return cls(grade, page_name(grade), tests, exercises, causes, said, told, short)

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
# A submission can raise any exception: kinds beyond this number are only counted.
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
        explained = self._add_mistakes(place, graded.causes)
        found: dict[str, tuple[str, list[str]]] = {}
        for each in graded.exercises:
            if each.standing is not Standing.FULL and each.exercise not in explained:
                words = _kind_of(each)
                found.setdefault(without_numbers(words), (words, []))[1].append(each.exercise)
        for kind, (words, names) in found.items():
            self.others.setdefault(kind, ProblemCount(words)).add(place, names)
        remarked: dict[tuple[bool, str], set[str]] = {}
        for note, verdicts in notes(graded.grade.tests).items():
            if note.endswith(OF_THE_VALUES):
                continue  # wrong values are already counted
            key = note.endswith(TAKEN_OFF), one_line(note, _LONGEST)
            remarked.setdefault(key, set()).update(verdict.exercise for verdict in verdicts)
        for (costs, words), noted in remarked.items():
            kinds = self.others if costs else self.remarks
            kinds.setdefault(words, ProblemCount(words)).add(place, sorted(noted))

    def _add_mistakes(self, place: int, causes: Iterable[Cause]) -> set[str]:
        """Adds the known mistakes; returns the exercises that they and their effects fail."""
        made: dict[str, dict[str, None]] = {}
        for cause in causes:
            for test in cause.tests:
                mistake = test.mistake or cause.mistake  # the root's, of what follows from it
                if mistake is None:
                    continue
                name = one_line(mistake.mistake)
                made.setdefault(name, {})[test.exercise] = None
                if name not in self.mistakes:
                    # The first one is at the root: explanations of others only refer to it.
                    told = plain(mistake.explanation), plain(mistake.hint)
                    self.mistakes[name] = ProblemCount(name, *told)
        for name, exercises in made.items():
            self.mistakes[name].add(place, exercises)
        return {exercise for exercises in made.values() for exercise in exercises}


def ranked(kinds: Iterable[ProblemCount]) -> tuple[list[ProblemCount], int]:
    """Returns the kinds that most submissions share, and the number of kinds left out."""
    ordered = sorted(kinds, key=lambda kind: (-len(kind.who), kind.words))
    return ordered[:_MOST], max(len(ordered) - _MOST, 0)


def _kind_of(exercise: ExerciseStanding) -> str:
    """Returns the kind of an exercise's problem; equal problems differ only in numbers."""
    telling = exercise.telling
    if exercise.standing is Standing.ERROR and telling is not None:
        return one_line(f"error {FailedTest.of(telling).outcome}")
    if exercise.standing not in (Standing.FAILED, Standing.PARTIAL) or telling is None:
        return exercise.words
    said = one_line(FailedTest.of(telling).outcome, _LONGEST)
    if exercise.standing is Standing.FAILED:
        return said
    # Use one aspect alone: a line for each combination would hide common problems.
    return f"values passed; {telling.aspect} failed: {said}"
