"""One submission's grade as text."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from grader.core.causes import Cause, in_short
from grader.core.plain_text import plain
from grader.core.text import one_line, points
from grader.core.verdict import Carried, Grade, GradeStatus, Status, Verdict
from grader.core.words import lack_in_words
from grader.reports.account import causes_of, cost, extent, paragraph, title
from grader.reports.credited import credited_tests
from grader.reports.notes import WRONG_VALUES, notes_in_short
from grader.reports.standing import ExerciseStanding, Standing, by_exercise, standing_of

_NOTE = 500
_OTHER_COLUMNS = 40


def print_grade(grade: Grade, console: Console) -> None:
    """Prints what went wrong, each cause with one of its tests, the exercises, and the notes."""
    console.print(Text(_headline(grade), style="bold"))
    if grade.message:
        console.print(Text(plain(grade.message)))
    verdicts = credited_tests(grade)
    exercises = [standing_of(tests) for tests in by_exercise(verdicts).values()]
    if exercises and grade.status is not GradeStatus.UNREADABLE:
        _print_causes(grade, causes_of(verdicts), console)
        console.print(_table(exercises, console.width - _OTHER_COLUMNS))
        _print_carried(grade, console)
        _print_notes(verdicts, console)
    if grade.unexplained:
        console.print(Text(plain(lack_in_words(grade.unexplained)), style="bold"))
    if grade.notes:
        console.print(Text("about what was handed in", style="bold"))
    for note in grade.notes:
        console.print(Padding(Text(one_line(note, _NOTE)), (0, 0, 0, 2), expand=False))


def _headline(grade: Grade) -> str:
    name = one_line(grade.submission)
    if not grade.is_complete:
        return f"{name}: NOT GRADED, by the machine's fault or the grader's"
    unreadable = ", unreadable" if grade.status is GradeStatus.UNREADABLE else ""
    return f"{name}: {points(grade.final)} of {points(grade.max_score)} points{unreadable}"


def _table(exercises: Sequence[ExerciseStanding], widest: int) -> Table:
    """A row for each exercise; names up to `widest` cells are never broken."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    longest = max(cell_len(one_line(each.exercise)) for each in exercises)
    table.add_column("exercise", overflow="fold", no_wrap=longest <= widest)
    table.add_column("points", justify="right", no_wrap=True)
    table.add_column("passed", justify="right", overflow="fold")
    table.add_column("", overflow="fold")
    for each in exercises:
        table.add_row(
            Text(one_line(each.exercise)),
            Text(f"{points(each.score)} / {points(each.max_score)}"),
            Text(f"{each.passed} of {each.tests}"),
            Text(each.words, style="green" if each.standing is Standing.FULL else ""),
        )
    return table


def _print_causes(grade: Grade, found: Sequence[Cause], console: Console) -> None:
    """Each cause once, with one of its tests; what is missing is in the table."""
    loud = [cause for cause in found if cause.shown.status is not Status.MISSING]
    told = [cause for cause in loud if not grade.message or cause.shown.message != grade.message]
    if len(told) > 1:
        console.print()
        console.print(Text(in_short(told)))
    for cause in told:
        console.print()
        console.print(Text(f"{title(cause)} {cost(cause)}".rstrip(), style="bold"))
        for line in (*paragraph(cause), f"in {one_line(cause.shown.id, 200)}", extent(cause)):
            console.print(Padding(Text(line), (0, 0, 0, 2), expand=False))


def _print_carried(grade: Grade, console: Console) -> None:
    """What comes back since it is paid for elsewhere, by the root."""
    by_root: dict[str, list[Carried]] = {}
    for one in grade.carried:
        by_root.setdefault(one.sentence, []).append(one)
    if by_root:
        console.print(Text("paid for once", style="bold"))
    for sentence, own in by_root.items():
        back = ", ".join(f"+{points(it.points)} points in {one_line(it.exercise)}" for it in own)
        console.print(Padding(Text(f"{back}: {plain(sentence)}"), (0, 0, 0, 2), expand=False))


def _print_notes(verdicts: Sequence[Verdict], console: Console) -> None:
    remarks = notes_in_short(verdicts)
    remarked = [verdict for verdicts in remarks.values() for verdict in verdicts]
    free = WRONG_VALUES not in remarks and all(v.score == v.max_score for v in remarked)
    if remarks:
        console.print(Text("notes, which cost nothing" if free else "notes", style="bold"))
    for note, verdicts in remarks.items():
        names = ", ".join(dict.fromkeys(one_line(verdict.exercise) for verdict in verdicts))
        said = f"{names}: {plain(note)}" if names else note
        console.print(Padding(Text(said), (0, 0, 0, 2), expand=False))
