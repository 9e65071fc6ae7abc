"""The grades as a CSV file of our own: a row for each person, a column for each exercise.

The machine's points and the columns of changes add up to the total, to the last digit; so do the
exercises' columns to the machine's points.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from typing import TextIO

from grader.core.points import points_of
from grader.core.submission import Author
from grader.reports.export.figures import harmless
from grader.reports.export.scores import ClassScores, Score
from grader.results.decisions.settlement import ChangeKind, Settlement, in_words

_WHO = ("submission", "name", "id", "email", "status", "late", "machine")
_TOTAL = ("total", "max")
_TEXTS = ("what went wrong", "changes", "comments")
_MAXIMA = "Points Possible"
_EXCUSED = "excused"

Cell = str | float


def write_table(
    scores: ClassScores, file: TextIO, by_exercise: bool = True, absent_zero: bool = False
) -> None:
    """Writes the rows: the first holds what is possible, then the class, then the absentees.

    A group's points stand in a row for each of its members. There is a column for each kind of
    change that was made.
    """
    worth = scores.exercises if by_exercise else {}
    made = {change.kind for score in scores.scores for change in score.settlement.changes}
    kinds = [kind for kind in ChangeKind if kind in made]
    # Text is quoted whether it need be or not: a `;` in it separates cells in half of Europe.
    table = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    table.writerow([*_WHO, *kinds, *_TOTAL, *map(harmless, worth), *_TEXTS])
    top = _cell(scores.max_score)
    blanks = [""] * len(kinds)
    maxima = [_MAXIMA, *[""] * 5, top, *blanks, top, top]
    table.writerow([*maxima, *map(_cell, worth.values()), *[""] * len(_TEXTS)])
    for score in scores.scores:
        table.writerows(_rows(score, kinds, [*worth]))
    for person in scores.absentees:
        zero = absent_zero and person not in scores.excused
        points: Cell = 0 if zero else ""
        status = _EXCUSED if person in scores.excused else "absent"
        who = ["", *_person(person), status, "", points]
        total = [points, top if zero else "", *[points] * len(worth)]
        why = harmless(scores.excused.get(person, ""))
        table.writerow([*who, *blanks, *total, "nothing handed in", why, ""])


def _rows(
    score: Score, kinds: Sequence[ChangeKind], exercises: Sequence[str]
) -> Iterator[list[Cell]]:
    own = score.settlement
    machine = None if own.machine is None else points_of(own.machine)
    for person in score.people:
        yield [
            harmless(score.submission),
            *_person(person),
            _EXCUSED if own.excused else str(score.status),
            "yes" if own.late else "no",
            _cell(machine),
            *(_of_kind(own, kind) for kind in kinds),
            _cell(score.total.got if score.total else None),
            _cell(score.total.of if score.total else None),
            *(_of_the_machine(score, exercise) for exercise in exercises),
            harmless(score.words),
            harmless("; ".join(_changes(own))),
            harmless("; ".join(own.comments)),
        ]


def _changes(own: Settlement) -> Iterator[str]:
    """Each change with its source, and the decisions that changed no points."""
    yield from (f"{in_words(one)} ({one.source})" for one in own.changes)
    told = {source for one in own.changes for source in one.source.split(", ")}
    if others := sorted((own.sources | {own.timed_by}) - told - {""}):
        yield f"see also {', '.join(others)}"


def _of_kind(own: Settlement, kind: ChangeKind) -> Cell:
    """What all changes of a kind come to; a blank where none was made."""
    made = any(change.kind is kind for change in own.changes)
    return _cell(points_of(own.of_kind(kind))) if made else ""


def _of_the_machine(score: Score, exercise: str) -> Cell:
    found = score.settlement.exercises.get(exercise)
    return "" if found is None else _cell(points_of(found.machine))


def _person(person: Author) -> Iterator[str]:
    return map(harmless, (person.name, person.id, person.email))


def _cell(points: float | None) -> Cell:
    """Points to two decimals, a blank where there are none."""
    if points is None:
        return ""
    rounded = round(points, 2)
    return int(rounded) if rounded.is_integer() else rounded
