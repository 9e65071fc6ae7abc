"""The formats of an export by name, and the grader's own JSON and CSV.

In the CSV table, the `machine` column and the columns of changes add up exactly to the total. The
exercises' columns add up exactly to the `machine` column.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from grader.core.points import points_of
from grader.core.submission import Author
from grader.core.verdict import Grade, GradeStatus
from grader.reports.export.filling import Choices
from grader.reports.export.gradebooks import fill_gradebook, fill_worksheet
from grader.reports.export.junit import junit_xml
from grader.reports.export.scores import (
    ClassScores,
    Export,
    ExportRefused,
    Score,
    class_scores,
    remarks_on,
)
from grader.reports.export.sheet import Sheet, harmless
from grader.reports.standing import standings
from grader.results.decisions.settlement import ChangeKind, PointsChange, Settlement, in_words
from grader.results.decisions.settling import Settling
from grader.results.results import Results

DOCUMENT_SCHEMA = 1


def document(results: Results, settling: Settling) -> str:
    """Returns the document, with a line for each submission.

    A group whose members get different points has several lines. A submission of an uncertain
    author has no people.
    """
    absentees = [dataclasses.asdict(person) for person in settling.absentees]
    head = {"schema": DOCUMENT_SCHEMA, "assignment": results.assignment, "absentees": absentees}
    entries: list[str] = []
    for grade in results.grades():
        name = grade.submission
        told = bool(results.people.authors.get(name)) or name in settling.taken
        known = told and name not in settling.unsure
        entries += [_json(_entry(grade, own, known)) for own in settling.settle(grade)]
    lines = ",\n".join(entries)
    return f'{_json(head)[:-1]}, "submissions": [\n{lines}\n]}}\n'


def _entry(grade: Grade, settlement: Settlement, known: bool) -> dict[str, Any]:
    """Returns a line of `results.jsonl` with people and exercises; ungraded ones have no points.

    Each `score` holds the tests' points, out of `max_score`. Each `final` holds the points after
    `changes`, out of those that are `possible` then.
    """
    fields = grade.as_json()
    del fields["schema"]
    tests = fields.pop("tests")
    complete = grade.is_complete
    if not complete:
        fields |= {"status": GradeStatus.NOT_GRADED, "score": None}
    # After an exercise's own changes, and before those of the whole.
    finals = {name: points_of(each.final) for name, each in settlement.exercises.items()}
    exercises = {
        each.exercise: {
            "score": each.score if complete else None,
            "max_score": each.max_score,
            "final": finals.get(each.exercise),
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
        "possible": None if settlement.final is None else points_of(settlement.worth),
        "changes": [*map(_change, settlement.changes)],
        "comments": [*settlement.comments],
        **fields,
        "exercises": exercises,
        "tests": tests,
    }


def _change(change: PointsChange) -> dict[str, Any]:
    fields = dataclasses.asdict(change) | {"points": change.points}
    del fields["hundredths"], fields["is_full"]
    return fields


def _json(value: Any) -> str:
    return json.dumps(value, allow_nan=False)


_WHO = ("submission", "name", "id", "email", "status", "late", "machine")
_TEXTS = ("what went wrong", "changes", "comments")
_MAXIMA = "Points Possible"
_EXCUSED = "excused"

Cell = str | float


def csv_table(scores: ClassScores, by_exercise: bool, absent_zero: bool) -> str:
    """Returns the CSV table: a row of maximum points, then the class, then the absentees.

    A group has a row for each of its members. Each kind of change that was made has a column.
    """
    worth = scores.exercises if by_exercise else {}
    made = {change.kind for score in scores.scores for change in score.settlement.changes}
    kinds = [kind for kind in ChangeKind if kind in made]
    columns = (*_WHO, *kinds, "total", "max", *worth, *_TEXTS)
    # Quote all text: in many European locales, spreadsheets split cells at `;`.
    text = io.StringIO(newline="")
    table = csv.DictWriter(text, columns, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    table.writerow({name: harmless(name) for name in columns})
    top = _cell(scores.max_score)
    maxima = {"submission": _MAXIMA, "machine": top, "total": top, "max": top}
    table.writerow(maxima | {name: _cell(of) for name, of in worth.items()})
    for score in scores.scores:
        row = _row(score, scores, kinds, worth)
        for person in (Author(),) if score.submission in scores.unsure else score.people:
            table.writerow(row | _known(person))
    for person in scores.absentees:
        why = scores.excused.get(person)
        zero: Cell = 0 if absent_zero and why is None else ""
        row = {name: zero for name in ("machine", "total", *worth)}
        row |= {"status": "absent" if why is None else _EXCUSED, "max": top if zero == 0 else ""}
        texts = {"what went wrong": "nothing handed in", "changes": harmless(why or "")}
        table.writerow(row | _known(person) | texts)
    return text.getvalue()


def _row(
    score: Score, scores: ClassScores, kinds: Sequence[ChangeKind], exercises: Iterable[str]
) -> dict[str, Cell]:
    """Returns the cells of a submission, without those of its people."""
    own = score.settlement
    made = {change.kind for change in own.changes}
    in_time = "" if score.submission in scores.untimed else "no"
    judged = {name: own.exercises[name].machine for name in exercises if name in own.exercises}
    return {
        "submission": harmless(score.submission),
        "status": _EXCUSED if own.excused else str(own.status),
        "late": "yes" if own.late else in_time,
        "machine": _cell(None if own.machine is None else points_of(own.machine)),
        **{kind: _cell(points_of(own.of_kind(kind))) for kind in kinds if kind in made},
        "total": _cell(own.final),
        "max": _cell(points_of(own.worth) if own.has_points else None),
        **{name: _cell(points_of(machine)) for name, machine in judged.items()},
        "what went wrong": harmless(score.words),
        "changes": harmless("; ".join(_changes(own))),
        "comments": harmless("; ".join(own.comments)),
    }


def _known(person: Author) -> dict[str, Cell]:
    return {key: harmless(text) for key, text in dataclasses.asdict(person).items()}


def _changes(own: Settlement) -> Iterator[str]:
    """Yields each change with its source, and the decisions that changed no points."""
    yield from (f"{in_words(one)} ({one.source})" for one in own.changes)
    told = {source for one in own.changes for source in one.source.split(", ")}
    if others := sorted((own.sources | {own.timed_by}) - told - {""}):
        yield f"see also {', '.join(others)}"


def _cell(points: float | None) -> Cell:
    if points is None:
        return ""
    rounded = round(points, 2)
    return int(rounded) if rounded.is_integer() else rounded


FORMATS = ("csv", "canvas", "moodle", "json", "junit")


def export_of(
    form: str, results: Results, settling: Settling, template: Path | None, choices: Choices
) -> Export:
    """Returns the grades in one of `FORMATS`, with remarks about them.

    Raises:
        ExportRefused: if the grades cannot be exported.
        StoreError: if the results cannot be read.
    """
    scores = class_scores(results, settling)
    general = remarks_on(scores, choices.absent_zero)
    if form in _FILLED:
        fill, lacking = _FILLED[form]
        if template is None:
            raise ExportRefused(f"{lacking} and name it with --template")
        exported = fill(Sheet.read(template), scores, choices)
        return Export(exported.text, (*exported.remarks, *general))
    if form == "csv":
        text = csv_table(scores, choices.by_exercise is not False, choices.absent_zero)
    elif form == "json":
        text = document(results, settling)
    else:
        text = junit_xml(results.assignment, results.grades(), settling.settle)
    return Export(text, general)


# The formats that fill in an instructor's own file, and how to get one.
_FILLED = {
    "canvas": (fill_gradebook, "Canvas knows its students by its own file: export the gradebook"),
    "moodle": (
        fill_worksheet,
        "Moodle takes no file but its own: download the assignment's grading worksheet",
    ),
}
