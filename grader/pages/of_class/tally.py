"""What a class got wrong, and how many made each mistake."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from grader.plain_text import plain
from grader.points import OF_THE_VALUES
from grader.report.complaints import kind_of
from grader.report.failures import notes
from grader.report.standing import ExerciseStanding, Standing
from grader.report.text import one_line
from grader.verdict import Grade

_LONGEST = 300
# A submission can raise whatever it likes: kinds beyond this many are only counted.
_MOST = 60


@dataclass(slots=True)
class Kind:
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

    def extend(self, later: Kind, place: int) -> None:
        """Adds the submissions of a later stretch of the class, which begins at `place`."""
        self.who += [place + own for own in later.who]
        for exercise, count in later.exercises.items():
            self.exercises[exercise] = self.exercises.get(exercise, 0) + count


@dataclass(slots=True)
class Tally:
    """Known mistakes, what else went wrong, and what was remarked on tests that passed."""

    mistakes: dict[str, Kind] = field(default_factory=dict)
    others: dict[str, Kind] = field(default_factory=dict)
    remarks: dict[str, Kind] = field(default_factory=dict)

    def add(self, place: int, grade: Grade, exercises: Sequence[ExerciseStanding]) -> None:
        """Adds a graded submission."""
        self._add_mistakes(place, grade)
        found: dict[str, list[str]] = {}
        for exercise in exercises:
            telling = exercise.telling
            if exercise.standing is not Standing.FULL and not (telling and telling.diagnosis):
                found.setdefault(kind_of(exercise), []).append(exercise.exercise)
        for words, names in found.items():
            self.others.setdefault(words, Kind(words)).add(place, names)
        remarked: dict[str, set[str]] = {}
        for note, verdicts in notes(grade.tests).items():
            if note.endswith(OF_THE_VALUES):
                continue  # that values are wrong is told already
            words = one_line(note, _LONGEST)
            remarked.setdefault(words, set()).update(verdict.exercise for verdict in verdicts)
        for words, noted in remarked.items():
            self.remarks.setdefault(words, Kind(words)).add(place, sorted(noted))

    def extend(self, later: Tally, place: int) -> None:
        """Adds a later stretch of the class, which begins at `place`."""
        for kinds, found in (
            (self.mistakes, later.mistakes),
            (self.others, later.others),
            (self.remarks, later.remarks),
        ):
            for words, kind in found.items():
                own = kinds.setdefault(words, Kind(words, kind.explanation, kind.hint))
                own.extend(kind, place)

    def _add_mistakes(self, place: int, grade: Grade) -> None:
        made: dict[str, set[str]] = {}
        for test in grade.tests:
            if test.diagnosis is None:
                continue
            mistake = one_line(test.diagnosis.mistake)
            made.setdefault(mistake, set()).add(test.exercise)
            if mistake not in self.mistakes:
                told = plain(test.diagnosis.explanation), plain(test.diagnosis.hint)
                self.mistakes[mistake] = Kind(mistake, *told)
        for mistake, exercises in made.items():
            self.mistakes[mistake].add(place, sorted(exercises))


def ranked(kinds: Iterable[Kind]) -> tuple[list[Kind], int]:
    """The kinds that most submissions share, first, and how many more there are."""
    ordered = sorted(kinds, key=lambda kind: (-len(kind.who), kind.words))
    return ordered[:_MOST], max(len(ordered) - _MOST, 0)
