"""The grades as a CSV file of our own: a row for each person, a column for each exercise."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping
from typing import TextIO

from grader.export.scores import ClassScores, Points, Score
from grader.export.sheets.figures import harmless
from grader.submission import Author

_WHO = ("submission", "name", "id", "email", "status", "late", "total", "max")
_WORDS = "what went wrong"
_MAXIMA = "Points Possible"

Cell = str | float


def write_table(
    scores: ClassScores, file: TextIO, by_exercise: bool = True, absent_zero: bool = False
) -> None:
    """Writes the rows: the first holds what is possible, then the class, then the absentees.

    A group's points stand in a row for each of its members.
    """
    worth = scores.exercises if by_exercise else {}
    # Text is quoted whether it need be or not: a `;` in it separates cells in half of Europe.
    table = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    table.writerow([*_WHO, *map(harmless, worth), _WORDS])
    top = scores.max_score
    table.writerow([_MAXIMA, *[""] * 5, _cell(top), _cell(top), *map(_cell, worth.values()), ""])
    for score in scores.scores:
        table.writerows(_rows(score, worth))
    table.writerows(_absent(scores.absentees, top, len(worth), absent_zero))


def _rows(score: Score, worth: Iterable[str]) -> Iterator[list[Cell]]:
    for person in score.people:
        yield [
            harmless(score.submission),
            *_person(person),
            str(score.status),
            "yes" if score.late else "no",
            _cell(score.total.got if score.total else None),
            _cell(score.total.of if score.total else None),
            *(_points(score.exercises, exercise) for exercise in worth),
            harmless(score.words),
        ]


def _absent(
    absentees: Iterable[Author], top: float | None, exercises: int, zero: bool
) -> Iterator[list[Cell]]:
    points: Cell = 0 if zero else ""
    for person in absentees:
        maximum = _cell(top) if zero else ""
        counted = [points, maximum, *[points] * exercises]
        yield ["", *_person(person), "absent", "", *counted, "nothing handed in"]


def _person(person: Author) -> Iterator[str]:
    return map(harmless, (person.name, person.id, person.email))


def _points(exercises: Mapping[str, Points], exercise: str) -> Cell:
    return _cell(exercises[exercise].got if exercise in exercises else None)


def _cell(points: float | None) -> Cell:
    """Points to two decimals, a blank where there are none."""
    if points is None:
        return ""
    rounded = round(points, 2)
    return int(rounded) if rounded.is_integer() else rounded
