"""The data of pages: of a grade, of a class's problems and submissions, of the page's script."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any

from grader.core.causes import Cause, FailedTest, without_numbers
from grader.core.explanation import lack_in_words
from grader.core.points import OF_THE_VALUES, TAKEN_OFF, points_of
from grader.core.submission import Author
from grader.core.text import one_line, plain
from grader.core.verdict import Grade, GradeStatus, Status, Verdict, by_exercise, name_of_test
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
from grader.reports.suite_quality import ExerciseTests, add_outcomes
from grader.results.decisions.settlement import Settlement, in_words

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


# The words of a page for standings; every other standing is "wrong".
_STANDINGS = {Standing.FULL: "right", Standing.PARTIAL: "half", Standing.MISSING: "missing"}
_LONGEST_NAME = 80
_LONGEST_WORDS = 240
_LONGEST_CHANGES = 600


@dataclass(slots=True)
class ExerciseCount:
    """The final points and the standings of a class in one exercise.

    `apart` says why its points are not among the possible ones, or is "".
    """

    name: str
    max_score: float = 0.0
    apart: str = ""
    scores: list[float] = field(default_factory=list)
    standings: Counter[str] = field(default_factory=Counter)

    @property
    def mean(self) -> float:
        """Returns the mean of the points."""
        return statistics.fmean(self.scores) if self.scores else 0.0


@dataclass(frozen=True, slots=True)
class ClassEntry:
    """One submission in the list of the class; its status is NOT_GRADED if a test was not judged.

    `short` is the first cause, and `phrases` are the first few in words. `score` holds the final
    points, `finals` those of all its people, and `machine` the tests' points; `changed` says why
    they differ. `marks` are labels, for
    example "excused". `counts` is False if another submission is taken instead, or all people are
    excused. `is_settled` is True if a decision concerns it. `keys` are its people with an id or an
    e-mail address.
    """

    submission: str
    name: str
    page: str
    status: GradeStatus
    score: float
    max_score: float
    short: str
    phrases: tuple[str, ...]
    people: str
    late: bool
    finals: tuple[float, ...] = ()
    machine: float = 0.0
    changed: str = ""
    marks: tuple[str, ...] = ()
    undecided: str = ""
    counts: bool = True
    is_settled: bool = False
    keys: tuple[Author, ...] = ()

    @property
    def called(self) -> str:
        """Returns the names of the people, or the submission's if nobody is known."""
        return self.people or self.name

    @property
    def is_changed(self) -> bool:
        """Returns whether somebody's points are not those of the tests."""
        if not self.finals:
            return bool(self.marks)
        is_decided = self.status is GradeStatus.NOT_GRADED
        return is_decided or any(final != self.machine for final in self.finals)

    @property
    def has_score(self) -> bool:
        """Returns whether the class's mean includes the submission."""
        return self.status is GradeStatus.GRADED and self.counts

    @property
    def words(self) -> str:
        """Returns the phrases as one text."""
        return "; ".join(self.phrases)


@dataclass(slots=True)
class ClassData:
    """The data of a class, filled submission by submission; `suite` are its exercises' tests."""

    entries: list[ClassEntry] = field(default_factory=list)
    exercises: dict[str, ExerciseCount] = field(default_factory=dict)
    counts: ProblemCounts = field(default_factory=ProblemCounts)
    notes: list[tuple[int, str]] = field(default_factory=list)
    suite: dict[str, ExerciseTests] = field(default_factory=dict)

    def add(self, graded: Graded, authors: Sequence[Author], settled: Sequence[Settlement]) -> None:
        """Adds a submission, with the settlements of its people."""
        place, grade = len(self.entries), graded.grade
        entry = _entry(graded, authors, settled)
        self.entries.append(entry)
        own = next((one for one in settled if entry.has_score and not one.excused), None)
        final = own.by_exercise() if own else {}
        self.notes += [(place, one_line(note, 300)) for note in grade.notes]
        if grade.unexplained:
            self.notes.append((place, one_line(lack_in_words(grade.unexplained), 300)))
        for each in graded.exercises:
            name = one_line(each.exercise)
            count = self.exercises.setdefault(name, ExerciseCount(name))
            if grade.status is GradeStatus.UNREADABLE:
                count.standings["unreadable"] += 1
            elif each.standing is not Standing.NOT_GRADED:
                count.standings[_STANDINGS.get(each.standing, "wrong")] += 1
            if own and each.exercise in final:
                counted = own.exercises[each.exercise]
                count.scores.append(points_of(final[each.exercise]))
                count.max_score = max(count.max_score, points_of(counted.worth))
                count.apart = counted.apart
        if grade.status is GradeStatus.GRADED:
            self.counts.add(place, graded)
        add_outcomes(self.suite, grade)

    @property
    def scores(self) -> list[float]:
        """Returns the final points of the people of graded submissions that count."""
        return [final for entry in self.entries if entry.has_score for final in entry.finals]

    def columns(self, kinds: Sequence[ProblemCount]) -> dict[str, Any]:
        """Returns the class by columns for the page's script: arrays repeat no field names."""
        return {
            "names": [entry.name for entry in self.entries],
            "pages": [entry.page for entry in self.entries],
            "statuses": "".join(entry.status.value[0] for entry in self.entries),
            "scores": [round(entry.score, 2) for entry in self.entries],
            "most": [round(entry.max_score, 2) for entry in self.entries],
            "short": [entry.short for entry in self.entries],
            "phrases": [[*entry.phrases] for entry in self.entries],
            "people": [entry.people for entry in self.entries],
            "machine": [round(entry.machine, 2) for entry in self.entries],
            "changed": [entry.changed for entry in self.entries],
            "marks": [[*entry.marks] for entry in self.entries],
            "late": [place for place, entry in enumerate(self.entries) if entry.late],
            "kinds": [{"words": kind.label, "who": kind.who} for kind in kinds],
        }

    def failed_tests(self) -> list[tuple[str, str, int]]:
        """Returns each failed test: its exercise, its name, and how many who tried it fail it."""
        return [
            (one_line(own.name), one_line(name_of_test(test), 160), number)
            for own in self.suite.values()
            for test, number in own.failed.items()
            if number
        ]


def _entry(graded: Graded, authors: Sequence[Author], settled: Sequence[Settlement]) -> ClassEntry:
    grade = graded.grade
    people = ", ".join(one_line(author.called) for author in authors)
    counted = [one for one in settled if not one.excused] or settled
    own = counted[0] if counted else None
    final = grade.score if own is None or own.final is None else own.final
    changes = dict.fromkeys(
        in_words(change) for one in settled for change in one.changes if not change.is_everybodys
    )
    sources = {source for one in settled for source in one.sources}
    return ClassEntry(
        submission=grade.submission,
        name=one_line(grade.submission, _LONGEST_NAME),
        page=graded.page,
        status=grade.status if grade.is_complete else GradeStatus.NOT_GRADED,
        score=final,
        max_score=points_of(own.worth) if own else grade.max_score,
        short=one_line(graded.short),
        phrases=tuple(one_line(said, _LONGEST_WORDS) for said in graded.phrases),
        people=one_line(people, _LONGEST_WORDS),
        late=any(one.late for one in settled),
        finals=tuple(one.final for one in settled if one.final is not None),
        machine=points_of(own.machine) if own and own.machine is not None else final,
        changed=one_line("; ".join(changes), _LONGEST_CHANGES),
        marks=tuple(_marks(settled)),
        undecided=next((one.undecided for one in counted if one.undecided), ""),
        counts=bool(settled) and not all(one.excused for one in settled),
        is_settled=bool(sources),
        keys=tuple(a for one in settled for a in one.people if a.id or a.email),
    )


def _marks(settled: Sequence[Settlement]) -> Iterator[str]:
    if not settled:
        yield "not counted"
    elif all(one.excused for one in settled):
        yield "excused"
    if len({one.final for one in settled}) > 1:
        yield "members differ"
