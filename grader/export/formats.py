"""The formats of an export, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TextIO

from grader.export.document import write_document
from grader.export.junit import write_junit
from grader.export.platforms.canvas import fill_gradebook, new_gradebook
from grader.export.platforms.moodle import fill_worksheet
from grader.export.remarks import Export, ExportRefused, Remark, remarks_on
from grader.export.scores import ClassScores, Score, class_scores, scored
from grader.export.sheets.filling import Choices
from grader.export.sheets.sheet import Sheet
from grader.export.table import write_table
from grader.store import Results
from grader.verdict import Grade

FORMATS = ("csv", "canvas", "moodle", "json", "junit")


def write_export(
    form: str, results: Results, template: Path | None, choices: Choices, file: TextIO
) -> list[Remark]:
    """Writes the grades to `file` in one of `FORMATS`; what is to be said about them.

    Raises:
        ExportRefused: if they cannot be; nothing is written then.
        StoreError: if the results cannot be read.
    """
    if form == "json":
        return _streamed(results, lambda grades: write_document(results, grades, file))
    if form == "junit":
        return _streamed(results, lambda grades: write_junit(results.assignment, grades, file))
    scores = class_scores(results)
    general = remarks_on(scores, choices.absent_zero)
    if form == "csv":
        write_table(scores, file, choices.by_exercise is not False, choices.absent_zero)
        return [*general]
    exported = (
        _canvas(scores, template, choices)
        if form == "canvas"
        else _moodle(scores, template, choices)
    )
    file.write(exported.text)
    return [*exported.remarks, *general]


def _streamed(results: Results, write: Callable[[Iterable[Grade]], None]) -> list[Remark]:
    """Has the grades written one at a time, all of which would not fit in memory."""
    scores: list[Score] = []
    write(scored(results, scores))
    return [*remarks_on(ClassScores(results.assignment, tuple(scores), results.absentees))]


def _canvas(scores: ClassScores, template: Path | None, choices: Choices) -> Export:
    if template is None:
        return new_gradebook(scores, choices)
    if choices.by_exercise and choices.column is not None:
        raise ExportRefused(
            "--points exercise fills a column for each exercise, found by the exercise's name: "
            "leave out --column"
        )
    return fill_gradebook(Sheet.read(template), scores, choices)


def _moodle(scores: ClassScores, template: Path | None, choices: Choices) -> Export:
    if template is None:
        raise ExportRefused(
            "Moodle takes no file but its own: download the assignment's grading worksheet "
            "and name it with --template"
        )
    return fill_worksheet(Sheet.read(template), scores, choices)
