"""The grades as one JSON document, with the people, what they get, and every test."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from typing import Any, TextIO

from grader.core.points import points_of
from grader.core.verdict import Grade, GradeStatus
from grader.reports.export.scores import Score
from grader.reports.standing import standings
from grader.results.decisions.settlement import PointsChange, Settlement
from grader.results.results import Results

DOCUMENT_SCHEMA = 1


def write_document(
    results: Results, scored: Iterable[tuple[Grade, tuple[Score, ...]]], file: TextIO
) -> None:
    """Writes the document, a line for each submission; one grade at a time is held in memory.

    `scored` are the grades of `results`. A group's submission has a line for each of its members
    who get different points.
    """
    absentees = [dataclasses.asdict(person) for person in results.absentees]
    head = {"schema": DOCUMENT_SCHEMA, "assignment": results.assignment, "absentees": absentees}
    file.write(f'{_json(head)[:-1]}, "submissions": [')
    separator = "\n"
    for grade, scores in scored:
        for score in scores:
            known = bool(results.authors.get(grade.submission))
            file.write(separator + _json(_entry(grade, score.settlement, known)))
            separator = ",\n"
    file.write("\n]}\n")


def _entry(grade: Grade, settlement: Settlement, known: bool) -> dict[str, Any]:
    """A line of `results.jsonl` with the people and the exercises; no points where not graded.

    `score` and the exercises' are the machine's; `final` is that with all `changes`.
    """
    fields = grade.as_json()
    del fields["schema"]
    tests = fields.pop("tests")
    complete = grade.is_complete
    if not complete:
        fields |= {"status": GradeStatus.NOT_GRADED, "score": None}
    exercises = {
        each.exercise: {
            "score": each.score if complete else None,
            "max_score": each.max_score,
            "final": _final(settlement, each.exercise),
            "standing": each.standing,
            "words": each.words,
        }
        for each in standings(grade)
    }
    return {
        "submission": fields.pop("submission"),
        "authors": [dataclasses.asdict(author) for author in settlement.people if known],
        "late": settlement.late,
        "excused": settlement.excused,
        "final": settlement.final,
        "changes": [*map(_change, settlement.changes)],
        "comments": [*settlement.comments],
        **fields,
        "exercises": exercises,
        "tests": tests,
    }


def _change(change: PointsChange) -> dict[str, Any]:
    fields = dataclasses.asdict(change) | {"points": change.points}
    del fields["hundredths"]
    return fields


def _final(settlement: Settlement, exercise: str) -> float | None:
    """An exercise with its own changes, but not those of the whole."""
    found = settlement.exercises.get(exercise)
    return None if found is None else points_of(found.final)


def _json(value: Any) -> str:
    return json.dumps(value, allow_nan=False)
