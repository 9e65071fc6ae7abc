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
from grader.report.standing import ExerciseStanding, Standing, standings
from grader.report.text import one_line, points
from grader.verdict import Diagnosis, Grade, GradeStatus, Status, Verdict, Where

_IDS = 3
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
    alike: dict[tuple[object, ...], list[Verdict]] = {}
    for verdict in grade.tests:
        told = verdict.message is not None and verdict.message == grade.message
        if verdict.status is Status.PASSED or verdict.exercise in quiet or told:
            continue
        said = verdict.diagnosis or (verdict.message, verdict.where)
        what = (verdict.exercise, verdict.status, said)
        alike.setdefault(what, []).append(verdict)
    for verdicts in alike.values():
        console.print(Text(_heading(verdicts), style="bold"))
        for line in _account(verdicts):
            console.print(Padding(Text(line), (0, 0, 0, 2), expand=False))
        console.print()


def _heading(verdicts: Sequence[Verdict]) -> str:
    first = verdicts[0]
    aspects = ", ".join(dict.fromkeys(str(verdict.aspect) for verdict in verdicts))
    lost = sum(verdict.max_score - verdict.score for verdict in verdicts)
    status = str(first.status).replace("_", " ")
    cost = "" if first.status is Status.NOT_GRADED else f" (-{points(lost)} points)"
    return f"{one_line(first.exercise)}, {aspects}: {status}{cost}"


def _account(verdicts: Sequence[Verdict]) -> Iterator[str]:
    for verdict in verdicts[:_IDS]:
        yield one_line(verdict.id, 200)
    if len(verdicts) > _IDS:
        yield f"and {len(verdicts) - _IDS} more tests"
    first = verdicts[0]
    if first.message:
        yield plain(first.message)
    if first.where and (first.where.step or not _tells(first.message, first.where)):
        yield _place(first.where)
    if first.diagnosis:
        yield from _explained(first.diagnosis)


def _tells(message: str | None, where: Where) -> bool:
    return f"{where.file}, line {where.line}" in (message or "")


def _place(where: Where) -> str:
    step = f', where "{one_line(where.step)}" goes astray' if where.step else ""
    return f"at {one_line(where.file)}, line {where.line}{step}"


def _explained(diagnosis: Diagnosis) -> Iterator[str]:
    yield f"mistake: {plain(diagnosis.explanation)} [{one_line(diagnosis.mistake)}]"
    yield f"hint: {plain(diagnosis.hint)}"


def _print_notes(grade: Grade, console: Console) -> None:
    notes: dict[str, list[str]] = {}
    free = True
    for verdict in grade.tests:
        if verdict.status is Status.PASSED and verdict.message:
            notes.setdefault(verdict.message, []).append(verdict.exercise)
            free = free and verdict.score == verdict.max_score
    if notes:
        console.print(Text("notes, which cost nothing" if free else "notes", style="bold"))
    for note, exercises in notes.items():
        names = ", ".join(map(one_line, dict.fromkeys(exercises)))
        console.print(Padding(Text(f"{names}: {plain(note)}"), (0, 0, 0, 2), expand=False))
