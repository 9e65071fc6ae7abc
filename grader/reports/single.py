"""One submission's grade as text, with the points that its exercises get back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from grader.core.causes import Cause, counted
from grader.core.explanation import lack_in_words
from grader.core.points import OF_THE_VALUES, hundredths, points_of, shared_out
from grader.core.text import gained_in_words, one_line, plain, points
from grader.core.verdict import Carried, Grade, GradeStatus, Status, Verdict, by_exercise
from grader.reports.standing import (
    OUR_FAULT,
    ExerciseStanding,
    Standing,
    causes_of,
    cost,
    extent,
    notes_in_short,
    paragraph,
    standing_of,
    title,
)


def credited(grade: Grade, scale: float = 1.0) -> Grade:
    """Returns the grade with carried points added to its scores; its message says why.

    The message gives a platform's points, which are those of the assignment times `scale`.
    """
    tests = credited_tests(grade)
    shown = [replace(one, points=one.points * scale) for one in grade.carried]
    said = [carried_in_words(one, tests) for one in shown]
    message = "\n".join(filter(None, [grade.message, *said])) or None
    return replace(grade, tests=tests, score=grade.final, carried=(), message=message)


def carried_in_words(carried: Carried, tests: Iterable[Verdict]) -> str:
    """Returns the points that an exercise gets back, and why; `tests` include these points."""
    is_full = all(
        test.score == test.max_score for test in tests if test.exercise == carried.exercise
    )
    back = f"{gained_in_words(carried.points, is_full)}. {carried.sentence(is_full)}"
    return f"{one_line(carried.exercise)}: {plain(back)}"


def credited_tests(grade: Grade) -> tuple[Verdict, ...]:
    """Returns the tests, with carried points added where an exercise's tests lost points.

    Tests that count less because of the exercise's values get theirs first, and no longer say so.
    The rest goes to tests that did not pass.
    """
    tests = list(grade.tests)
    for one in grade.carried:
        lacking = [
            place
            for place, test in enumerate(tests)
            if test.exercise == one.exercise and test.score < test.max_score
        ]
        lessened = [place for place in lacking if _counts_less(tests[place])]
        others = [place for place in lacking if place not in lessened]
        back = hundredths(one.points)
        for places in filter(None, (lessened, others)):
            lacks = [hundredths(tests[it].max_score) - hundredths(tests[it].score) for it in places]
            parts = shared_out(min(back, sum(lacks)), lacks)
            back -= sum(parts)
            for place, part in zip(places, parts, strict=True):
                test = tests[place]
                score = points_of(hundredths(test.score) + part)
                said = without(test.message, OF_THE_VALUES)
                tests[place] = test._replace(score=score, message=said)
    return tuple(tests)


def _counts_less(test: Verdict) -> bool:
    return test.status is Status.PASSED and OF_THE_VALUES in (test.message or "")


def without(message: str | None, *ends: str) -> str | None:
    """Returns a message without the lines that end like this."""
    lines = (message or "").split("\n")
    return "\n".join(line for line in lines if not line.endswith(ends)) or None


_NOTE = 500
_OTHER_COLUMNS = 40


def print_grade(grade: Grade, console: Console) -> None:
    """Prints each cause with one of its tests, the table of exercises, and the notes."""
    console.print(Text(_headline(grade), style="bold"))
    if grade.message:
        console.print(Text(plain(grade.message)))
    verdicts = credited_tests(grade)
    exercises = [standing_of(tests) for tests in by_exercise(verdicts).values()]
    if exercises and grade.status is not GradeStatus.UNREADABLE:
        _print_causes(grade, causes_of(verdicts, grade.carried), console)
        console.print(_table(exercises, console.width - _OTHER_COLUMNS))
        back = [carried_in_words(one, verdicts) for one in grade.carried]
        _print_list("deducted once", back, console)
        _print_list("notes", [*_remarks(verdicts)], console)
    if grade.unexplained:
        console.print(Text(plain(lack_in_words(grade.unexplained)), style="bold"))
    about = [one_line(note, _NOTE) for note in grade.notes]
    _print_list("about what was handed in", about, console)


def _print_list(heading: str, lines: Sequence[str], console: Console) -> None:
    """Prints lines below a heading, if there are any."""
    if lines:
        console.print(Text(heading, style="bold"))
    for line in lines:
        console.print(Padding(Text(line), (0, 0, 0, 2), expand=False))


def _headline(grade: Grade) -> str:
    name = one_line(grade.submission)
    if not grade.is_complete:
        return f"{name}: NOT GRADED, {OUR_FAULT}"
    unreadable = ", unreadable" if grade.status is GradeStatus.UNREADABLE else ""
    return f"{name}: {points(grade.final)} of {points(grade.max_score)} points{unreadable}"


def _table(exercises: Sequence[ExerciseStanding], widest: int) -> Table:
    """Returns a row for each exercise; names up to `widest` cells are never broken."""
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
    """Prints each cause once, with one of its tests; missing exercises are in the table."""
    loud = [cause for cause in found if cause.shown.status is not Status.MISSING]
    told = [cause for cause in loud if not grade.message or cause.shown.message != grade.message]
    if len(told) > 1:
        console.print()
        console.print(Text(counted(told)))
    for cause in told:
        console.print()
        below = [*paragraph(cause), f"in {one_line(cause.shown.id, 200)}", extent(cause)]
        _print_list(f"{title(cause)} {cost(cause)}".rstrip(), below, console)


def _remarks(verdicts: Sequence[Verdict]) -> Iterator[str]:
    for note, noted in notes_in_short(verdicts).items():
        names = ", ".join(dict.fromkeys(one_line(verdict.exercise) for verdict in noted))
        yield f"{names}: {plain(note)}" if names else note
