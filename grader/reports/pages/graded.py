"""A grade with all that its pages say of it, worked out once, and the counts of a class."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from grader.core.causes import Cause, FailedTest
from grader.core.points import OF_THE_VALUES
from grader.core.text import one_line, plain, points
from grader.core.verdict import Grade, Verdict
from grader.reports.pages.rendering import page_name
from grader.reports.single import credited_tests
from grader.reports.standing import (
    ExerciseStanding,
    Standing,
    by_exercise,
    causes_of,
    complaint,
    notes,
    phrases,
    standing_of,
)
from grader.results.decisions.settlement import Settlement
from grader.results.decisions.settling import common

_SHORT = 72


@dataclass(frozen=True, slots=True)
class Graded:
    """A grade, the name of its page's file, how it stands in each exercise, what went wrong.

    `complete` says whether every test was judged; `tests` are the verdicts of each exercise, with
    what came back among their scores, as it is in what causes cost. `phrases` say what went wrong,
    `short` the first of it.
    """

    grade: Grade
    page: str
    complete: bool
    tests: Mapping[str, Sequence[Verdict]]
    exercises: Sequence[ExerciseStanding]
    causes: Sequence[Cause]
    phrases: Sequence[str]
    short: str

    @classmethod
    def of(cls, grade: Grade) -> Graded:
        """Returns a grade with all that a page says about it."""
        exercises = [standing_of(of_one) for of_one in by_exercise(grade.tests).values()]
        credited = credited_tests(grade)
        tests, causes = by_exercise(credited), causes_of(credited)
        said, short = phrases(grade, causes), complaint(grade, _SHORT, causes)
        page, is_complete = page_name(grade), grade.is_complete
        return cls(grade, page, is_complete, tests, exercises, causes, said, short)


_LONGEST_CHANGE = 800


@dataclass(frozen=True, slots=True)
class Settled:
    """The headline, whether there is a number in it, and each change and comment.

    `score` of `worth` points is the final one. `differ` says that members get different points:
    what is shown is what they have in common. `counts` is false where another submission was taken
    instead. `exercises` are the points of those whose points were changed.
    """

    score: str
    worth: str
    machine: str
    changes: tuple[str, ...] = ()
    comments: tuple[str, ...] = ()
    excused: bool = False
    differ: bool = False
    counts: bool = True
    exercises: Mapping[str, str] = field(default_factory=dict)


def settled_in_words(settled: tuple[Settlement, ...]) -> Settled:
    """Returns the settlement that the people of a submission have in common, in words."""
    own = common(settled)
    if own is None:
        return Settled("", "", "", counts=False)
    return Settled(
        score="" if own.final is None else points(own.final),
        worth=points(own.worth / 100),
        machine="" if own.machine is None else points(own.machine / 100),
        changes=tuple(one_line(change, _LONGEST_CHANGE) for change in own.sentences()),
        comments=tuple(one_line(comment, 2000) for comment in own.comments),
        excused=own.excused,
        exercises={
            name: points(each.final / 100)
            for name, each in own.exercises.items()
            if each.final != each.machine and len(settled) == 1
        },
        differ=len({(one.final, one.excused) for one in settled}) > 1,
    )


_LONGEST = 300
# A submission can raise whatever it likes: kinds beyond this many are only counted.
_MOST = 60


@dataclass(slots=True)
class ProblemCount:
    """One thing that went wrong: what it is, in which exercises, and in whose submissions.

    `who` are the submissions' places in the class. A known mistake has an explanation and a hint.
    """

    words: str
    explanation: str = ""
    hint: str = ""
    exercises: dict[str, int] = field(default_factory=dict)
    who: list[int] = field(default_factory=list)

    def add(self, place: int, exercises: Iterable[str]) -> None:
        """Adds a submission, once, with the exercises in which it happened to it."""
        self.who.append(place)
        for exercise in exercises:
            self.exercises[exercise] = self.exercises.get(exercise, 0) + 1


@dataclass(slots=True)
class MistakeCounts:
    """Known mistakes, what else went wrong, and what was remarked on tests that passed."""

    mistakes: dict[str, ProblemCount] = field(default_factory=dict)
    others: dict[str, ProblemCount] = field(default_factory=dict)
    remarks: dict[str, ProblemCount] = field(default_factory=dict)

    def add(self, place: int, graded: Graded) -> None:
        """Adds a graded submission."""
        explained = self._add_mistakes(place, graded.causes)
        found: dict[str, list[str]] = {}
        for each in graded.exercises:
            if each.standing is not Standing.FULL and each.exercise not in explained:
                found.setdefault(_kind_of(each), []).append(each.exercise)
        for words, names in found.items():
            self.others.setdefault(words, ProblemCount(words)).add(place, names)
        remarked: dict[str, set[str]] = {}
        for note, verdicts in notes(graded.grade.tests).items():
            if note.endswith(OF_THE_VALUES):
                continue  # that values are wrong is told already
            words = one_line(note, _LONGEST)
            remarked.setdefault(words, set()).update(verdict.exercise for verdict in verdicts)
        for words, noted in remarked.items():
            self.remarks.setdefault(words, ProblemCount(words)).add(place, sorted(noted))

    def _add_mistakes(self, place: int, causes: Iterable[Cause]) -> set[str]:
        """Adds the known mistakes; the exercises that they, and what follows from them, fail."""
        made: dict[str, dict[str, None]] = {}
        for cause in causes:
            named = [name for name in cause.exercises if cause.mistake_of(name) is not None]
            exercises = dict.fromkeys(cause.exercises if cause.mistake else named)
            for mistake in dict.fromkeys(test.mistake for test in cause.tests if test.mistake):
                name = one_line(mistake.mistake)
                made.setdefault(name, {}).update(exercises)
                if name not in self.mistakes:
                    # The first is at the root: others only say that it is the same.
                    told = plain(mistake.explanation), plain(mistake.hint)
                    self.mistakes[name] = ProblemCount(name, *told)
        for name, exercises in made.items():
            self.mistakes[name].add(place, exercises)
        return {exercise for exercises in made.values() for exercise in exercises}


def ranked(kinds: Iterable[ProblemCount]) -> tuple[list[ProblemCount], int]:
    """Returns the kinds that most submissions share, first, and how many more there are."""
    ordered = sorted(kinds, key=lambda kind: (-len(kind.who), kind.words))
    return ordered[:_MOST], max(len(ordered) - _MOST, 0)


def _kind_of(exercise: ExerciseStanding) -> str:
    """Returns the words that an exercise shares with others that went wrong in the same way."""
    telling = exercise.telling
    if exercise.standing is Standing.ERROR and telling is not None:
        return one_line(f"error {FailedTest.of(telling).outcome}")
    if exercise.standing is Standing.PARTIAL:
        # The first aspect alone: a line for each combination would hide what they share.
        return f"values right, {exercise.lacking[0]} not yet"
    return exercise.words
