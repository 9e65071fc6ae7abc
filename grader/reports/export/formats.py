"""The formats of an export, by name."""

from __future__ import annotations

from pathlib import Path
from typing import TextIO

from grader.reports.export.canvas import fill_gradebook, new_gradebook
from grader.reports.export.document import write_document
from grader.reports.export.filling import Choices
from grader.reports.export.junit import write_junit
from grader.reports.export.moodle import fill_worksheet
from grader.reports.export.remarks import Export, ExportRefused, Remark, remarks_on
from grader.reports.export.scores import ClassScores, Score, class_scores, collected, scored
from grader.reports.export.sheet import Sheet
from grader.reports.export.table import write_table
from grader.results.decisions.settling import Settling
from grader.results.results import Results

FORMATS = ("csv", "canvas", "moodle", "json", "junit")


def write_export(
    form: str,
    results: Results,
    settling: Settling,
    template: Path | None,
    choices: Choices,
    file: TextIO,
) -> list[Remark]:
    """Writes the grades to `file` in one of `FORMATS`; what is to be said about them.

    Raises:
        ExportRefused: if they cannot be; nothing is written then.
        StoreError: if the results cannot be read.
    """
    if form in ("json", "junit"):
        return _streamed(form, results, settling, file)
    scores = class_scores(results, settling)
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


def _streamed(form: str, results: Results, settling: Settling, file: TextIO) -> list[Remark]:
    """Has the grades written one at a time, all of which would not fit in memory."""
    scores: list[Score] = []
    found = scored(results, settling, scores)
    if form == "json":
        write_document(results, found, file)
    else:
        grades = (grade for grade, _ in found)
        write_junit(results.assignment, grades, file, settling.settle)
    return [*remarks_on(collected(results, settling, scores))]


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
