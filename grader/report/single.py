"""One submission's grade as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from grader.plain_text import plain
from grader.report.failures import account, brief_account, failures, follows, notes
from grader.report.standing import ExerciseStanding, Standing, standings
from grader.report.text import one_line, points
from grader.verdict import Grade, GradeStatus, Verdict
from grader.words import lack_in_words

_IDS = 3
_NOTE = 500
_OTHER_COLUMNS = 40


def print_grade(grade: Grade, console: Console) -> None:
    """Prints the score by exercise, each failure with its message and line, and the notes."""
    console.print(Text(_headline(grade), style="bold"))
    if grade.message:
        console.print(Text(plain(grade.message)))
    exercises = standings(grade)
    if exercises and grade.status is not GradeStatus.UNREADABLE:
        console.print(_table(exercises, console.width - _OTHER_COLUMNS))
        _print_failures(grade, exercises, console)
        _print_notes(grade, console)
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
    return f"{name}: {points(grade.score)} of {points(grade.max_score)} points{unreadable}"


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


def _print_failures(grade: Grade, exercises: Sequence[ExerciseStanding], console: Console) -> None:
    """Each failure once, with the tests that it has in common; what is missing needs no words."""
    quiet = {each.exercise for each in exercises if each.standing is Standing.MISSING}
    loud = [verdict for verdict in grade.tests if verdict.exercise not in quiet]
    found = [one for one in failures(loud) if not one.message or one.message != grade.message]
    for place, failure in enumerate(found):
        words = brief_account if follows(failure, found[:place]) else account
        heading = f"{one_line(failure.exercise)}, {failure.outcome}"
        console.print(Text(heading, style="bold"))
        for line in (*_ids(failure.verdicts), *words(failure)):
            console.print(Padding(Text(line), (0, 0, 0, 2), expand=False))
        console.print()


def _ids(verdicts: Sequence[Verdict]) -> Iterator[str]:
    for verdict in verdicts[:_IDS]:
        yield one_line(verdict.id, 200)
    if len(verdicts) > _IDS:
        more = len(verdicts) - _IDS
        yield f"and {more} more test{'s' if more > 1 else ''}"


def _print_notes(grade: Grade, console: Console) -> None:
    remarks = notes(grade.tests)
    remarked = [verdict for verdicts in remarks.values() for verdict in verdicts]
    free = all(verdict.score == verdict.max_score for verdict in remarked)
    if remarks:
        console.print(Text("notes, which cost nothing" if free else "notes", style="bold"))
    for note, verdicts in remarks.items():
        names = ", ".join(dict.fromkeys(one_line(verdict.exercise) for verdict in verdicts))
        console.print(Padding(Text(f"{names}: {plain(note)}"), (0, 0, 0, 2), expand=False))
