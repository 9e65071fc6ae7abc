"""The data of a class's page: its submissions, counts, and columns for the page's script."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from grader.core.explanation import lack_in_words
from grader.core.points import points_of
from grader.core.submission import Author
from grader.core.text import one_line
from grader.core.verdict import GradeStatus, Status, Verdict, name_of_test
from grader.reports.pages.graded import Graded, ProblemCount, ProblemCounts
from grader.reports.standing import Standing
from grader.reports.suite_quality import ExerciseTests, add_outcomes
from grader.reports.summary import author_in_words
from grader.results.decisions.settlement import Settlement, in_words

_NOT_FAILED = (Status.PASSED, Status.NOT_GRADED)
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

    def add(self, standing: Standing) -> None:
        """Adds the standing of a readable submission; ignores an ungraded one."""
        if standing is not Standing.NOT_GRADED:
            self.standings[_STANDINGS.get(standing, "wrong")] += 1

    def add_score(self, score: float, max_score: float) -> None:
        """Adds the final points of a submission that counts."""
        self.scores.append(score)
        self.max_score = max(self.max_score, max_score)


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
    _tests: dict[str, Verdict] = field(default_factory=dict)
    _failing: Counter[str] = field(default_factory=Counter)

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
            else:
                count.add(each.standing)
            if own and each.exercise in final:
                counted = own.exercises[each.exercise]
                count.add_score(points_of(final[each.exercise]), points_of(counted.worth))
                count.apart = counted.apart
        if grade.status is GradeStatus.GRADED:
            self.counts.add(place, graded)
        for test in grade.tests:
            self._tests.setdefault(test.id, test)
            # A submission that was not graded, or not read, fails no test.
            if grade.status is not GradeStatus.UNREADABLE and test.status not in _NOT_FAILED:
                self._failing[test.id] += 1
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
        """Returns each failed test: its exercise, its name, and how many submissions fail it."""
        order = {name: number for number, name in enumerate(self.exercises)}
        tests = [one for one in self._tests.values() if self._failing[one.id]]
        tests.sort(key=lambda one: order[one_line(one.exercise)])
        return [
            (one_line(one.exercise), one_line(name_of_test(one.id), 160), self._failing[one.id])
            for one in tests
        ]


def _entry(graded: Graded, authors: Sequence[Author], settled: Sequence[Settlement]) -> ClassEntry:
    grade = graded.grade
    people = ", ".join(map(author_in_words, authors))
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
