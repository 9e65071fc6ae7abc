"""The table that a batch ends with."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence

from rich import box
from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from grader.core.text import points
from grader.core.verdict import GradeStatus
from grader.reports.complaints import complaints
from grader.reports.people import labelled
from grader.results.decisions.settling import Settling
from grader.results.results import Outline, Results

_ROWS = 300
_NOT_GRADED_LISTED = 20

# The final points of the people of each submission.
# By submission, what each whom it counts for gets; None for who is excused.
_Finals = Mapping[str, tuple[float | None, ...]]


def print_summary(
    results: Results, console: Console, settling: Settling | None = None, rows: int = _ROWS
) -> bool:
    """Prints a row for each submission (the first `rows` of them), the counts, what was not graded.

    The points are final where a settling is given, and else the tests'. Only for final points is
    more read than the rows that are printed.

    Returns whether every submission got its grade.
    """
    found = results.outlines()
    finals = {} if settling is None else _finals(results, settling)
    if found:
        console.print(_table(results, found[:rows], finals))
    if len(found) > rows:
        console.print(Text(f"and {len(found) - rows} more, counted below"))
    console.print(Text(_counts(found, finals)))
    if changed := sum(_is_changed(row, finals) for row in found):
        scores = "1 score is" if changed == 1 else f"{changed} scores are"
        words = f"{scores} not the sum of the tests alone: the report and exports say why"
        console.print(Text(words), soft_wrap=True)
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


def _finals(results: Results, settling: Settling) -> _Finals:
    return {
        grade.submission: tuple(own.final for own in settling.settle(grade))
        for grade in results.bare_grades()
    }


def _is_changed(row: Outline, finals: _Finals) -> bool:
    if _is_ungraded(row, finals):
        return False
    return any(final != row.score for final in _points(row, finals)) or not _points(row, finals)


def _is_ungraded(row: Outline, finals: _Finals) -> bool:
    """Tells whether no tests gave points, and nobody decided any."""
    decided = any(points is not None for points in finals.get(row.submission, ()))
    return row.status is GradeStatus.NOT_GRADED and not decided


def _points(row: Outline, finals: _Finals) -> tuple[float, ...]:
    """What those whom the submission counts for get; nothing if they are excused, or nobody."""
    own = finals.get(row.submission, (row.score,))
    return tuple(points for points in own if points is not None)


def _table(results: Results, rows: Sequence[Outline], finals: _Finals) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("submission", max_width=40, overflow="fold")
    table.add_column("score", justify="right", no_wrap=True)
    table.add_column("what went wrong", overflow="fold", ratio=1)
    for row, grade in zip(rows, results.grades(len(rows)), strict=False):
        table.add_row(Text(_label(results, row)), _score(row, finals), Text(complaints(grade)))
    return table


def _label(results: Results, row: Outline) -> str:
    return labelled(row.submission, results.authors.get(row.submission, ()))


def _score(row: Outline, finals: _Finals) -> Text:
    if _is_ungraded(row, finals):
        return Text("not graded", style="bold red")
    own = sorted(set(_points(row, finals)))
    if not own:
        return Text("excused" if finals.get(row.submission) else "another was taken instead")
    if row.status is GradeStatus.UNREADABLE and own == [0]:
        return Text("unreadable", style="yellow")
    style = "green" if own[0] >= row.max_score else ""
    return Text(f"{'–'.join(map(points, own))} / {points(row.max_score)}", style)


def _counts(rows: Sequence[Outline], finals: _Finals) -> str:
    of = Counter(row.status for row in rows)
    noun = "submission" if len(rows) == 1 else "submissions"
    words = (
        f"{len(rows)} {noun}: {of[GradeStatus.GRADED]} graded, "
        f"{of[GradeStatus.UNREADABLE]} unreadable, {of[GradeStatus.NOT_GRADED]} not graded"
    )
    graded = [row for row in rows if row.status is GradeStatus.GRADED]
    scores = [score for row in graded for score in _points(row, finals)]
    if not scores:
        return words
    full = max(row.max_score for row in graded)
    mean, median = points(statistics.fmean(scores)), points(statistics.median(scores))
    remark = " of those graded" if of[GradeStatus.UNREADABLE] else ""
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
