"""The table that a batch ends with."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from grader.report.complaints import complaints
from grader.report.people import labelled
from grader.report.text import points
from grader.store import Outline, Results
from grader.verdict import GradeStatus

_ROWS = 300
_NOT_GRADED_LISTED = 20


def print_summary(results: Results, console: Console, rows: int = _ROWS) -> bool:
    """Prints a row for each submission (the first `rows` of them), the counts, what was not graded.

    Verdicts are read of those alone that have a line of their own.

    Returns whether every submission got its grade.
    """
    found = results.outlines()
    if found:
        console.print(_table(results, found[:rows]))
    if len(found) > rows:
        console.print(Text(f"and {len(found) - rows} more, counted below"))
    console.print(Text(_counts(found)))
    if unexplained := results.count_unexplained():
        noun = "submission is" if unexplained == 1 else "submissions are"
        words = (
            f"{unexplained} {noun} not explained, or not wholly: grader explain {results.folder}"
        )
        console.print(Text(words), soft_wrap=True)
    not_graded = [row for row in found if row.status is GradeStatus.NOT_GRADED]
    if not_graded:
        console.print(_alarm(results, not_graded))
    return not not_graded


def _table(results: Results, rows: Sequence[Outline]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("submission", max_width=40, overflow="fold")
    table.add_column("score", justify="right", no_wrap=True)
    table.add_column("what went wrong", overflow="fold", ratio=1)
    for row, grade in zip(rows, results.grades(len(rows)), strict=False):
        table.add_row(Text(_label(results, row)), _score(row), Text(complaints(grade)))
    return table


def _label(results: Results, row: Outline) -> str:
    return labelled(row.submission, results.authors.get(row.submission, ()))


def _score(row: Outline) -> Text:
    if row.status is GradeStatus.NOT_GRADED:
        return Text("not graded", style="bold red")
    style = "green" if row.score >= row.max_score else ""
    return Text(f"{points(row.score)} / {points(row.max_score)}", style)


def _counts(rows: Sequence[Outline]) -> str:
    of = Counter(row.status for row in rows)
    noun = "submission" if len(rows) == 1 else "submissions"
    words = (
        f"{len(rows)} {noun}: {of[GradeStatus.GRADED]} graded, "
        f"{of[GradeStatus.UNREADABLE]} unreadable, {of[GradeStatus.NOT_GRADED]} not graded"
    )
    scored = [row for row in rows if row.status is not GradeStatus.NOT_GRADED]
    if not scored:
        return words
    scores = [row.score for row in scored]
    full = max(row.max_score for row in scored)
    mean, median = points(statistics.fmean(scores)), points(statistics.median(scores))
    remark = " (an unreadable one counts 0)" if of[GradeStatus.UNREADABLE] else ""
    return f"{words}; mean {mean}, median {median} of {points(full)} points{remark}"


def _alarm(results: Results, rows: Sequence[Outline]) -> Panel:
    text = Text()
    for row in rows[:_NOT_GRADED_LISTED]:
        grade = results.grade(row.submission)
        words = complaints(grade) if grade else str(row.status)
        text.append(_label(results, row), style="bold").append(f": {words}\n")
    if len(rows) > _NOT_GRADED_LISTED:
        text.append(f"and {len(rows) - _NOT_GRADED_LISTED} more\n")
    text.append(
        "This is the machine's fault or the grader's, and costs nobody points: "
        "run the same command again to grade what is left."
    )
    return Panel(text, title=f"{len(rows)} NOT GRADED", border_style="bold red")
