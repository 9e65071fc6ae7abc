"""The grades as one JSON document, with the people and every test."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from typing import Any, TextIO

from grader.report.standing import standings
from grader.store import Results
from grader.submission import Author
from grader.verdict import Grade, GradeStatus

DOCUMENT_SCHEMA = 1


def write_document(results: Results, grades: Iterable[Grade], file: TextIO) -> None:
    """Writes the document, a line for each submission; one grade at a time is held in memory.

    `grades` are those of `results`, which tell of the people.
    """
    absentees = [dataclasses.asdict(person) for person in results.absentees]
    head = {"schema": DOCUMENT_SCHEMA, "assignment": results.assignment, "absentees": absentees}
    file.write(f'{_json(head)[:-1]}, "submissions": [')
    separator = "\n"
    for grade in grades:
        name = grade.submission
        entry = _entry(grade, results.authors.get(name, ()), name in results.late)
        file.write(separator + _json(entry))
        separator = ",\n"
    file.write("\n]}\n")


def _entry(grade: Grade, authors: tuple[Author, ...], late: bool) -> dict[str, Any]:
    """A line of `results.jsonl` with the people and the exercises; no points where not graded."""
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
            "standing": each.standing,
            "words": each.words,
        }
        for each in standings(grade)
    }
    return {
        "submission": fields.pop("submission"),
        "authors": [dataclasses.asdict(author) for author in authors],
        "late": late,
        **fields,
        "exercises": exercises,
        "tests": tests,
    }


def _json(value: Any) -> str:
    return json.dumps(value, allow_nan=False)
