"""Tables on a terminal: the end of a batch, and clusters of wrong answers."""

from __future__ import annotations

import shlex
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from rich import box
from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from grader.core.explanation import WrongAnswer
from grader.core.names import several
from grader.core.points import points_of
from grader.core.submission import Author
from grader.core.text import one_line, points, quantity
from grader.core.verdict import Grade, GradeStatus, name_of_test
from grader.core.wire import ROW_MARKS
from grader.explain.mistakes.clusters import AnswerCluster, NamedMistake
from grader.reports.standing import complaint, complaints
from grader.results.decisions.settlement import Settlement
from grader.results.decisions.settling import Settling
from grader.results.results import Results

_SHOWN = 3


def author_in_words(author: Author) -> str:
    """Returns the author's name, or else the e-mail address or the id."""
    return one_line(author.called)


def absent_in_words(results: Results, settling: Settling | None) -> list[str]:
    """Returns the names of the people who handed in nothing, and whether they are excused."""
    if settling is None:
        return [*map(author_in_words, results.people.absentees)]
    return [
        author_in_words(person) + (" (excused)" if settling.excused(person) else "")
        for person in settling.absentees
    ]


def labelled(submission: str, authors: Sequence[Author]) -> str:
    """Returns the authors' names, then the submission's; if no author is known, only the latter."""
    known = [author for author in authors if author.name or author.email]
    if not known:
        return one_line(submission)
    names = several([author_in_words(author) for author in known], shown=_SHOWN)
    return f"{names} ({one_line(submission)})"


_MOST_MEMBERS = 6
_MOST_TESTS = 4
_MOST_NUMBERS = 6
# A submission with answers like no other's is shown as a group only on request (--all).
AT_LEAST = 2
_KINDS = {mark: kind for kind, mark in ROW_MARKS.items()}


def in_words(
    groups: Sequence[AnswerCluster],
    names: Sequence[NamedMistake],
    folder: Path,
    everyone: bool = False,
    unexplained: int = 0,
) -> Iterator[str]:
    """Yields the groups, the largest first, each with its tests and its smallest case.

    The last lines name commands on `folder`; `unexplained` submissions have no full explanation.
    """
    command = f"grader mistakes {shlex.quote(str(folder))}"
    called = {group.id: name_of(group, names) for group in groups}
    shown = [group for group in groups if everyone or len(group.members) >= AT_LEAST]
    for group in shown:
        yield from _group(group, called[group.id])
        yield ""
    alone = len(groups) - len(shown)
    if unexplained:
        are = "submission is" if unexplained == 1 else "submissions are"
        said = f"{unexplained} {are} not fully explained yet, and may have further mistakes"
        yield f"{said}: grader explain {shlex.quote(str(folder))}"
    elif not groups:
        yield "There is no group: no wrong answers without a name can be compared."
    if alone:
        others = "submission answers" if alone == 1 else "times a submission answers"
        yield f"{alone} {others} like nobody else: {command} list --all"
    unnamed = [group for group in shown if called[group.id] is None]
    if unnamed:
        yield (
            f'To name a group: {command} name {unnamed[0].id} ID --sentence "Your …" --hint "…?"'
        )


def heading(group: AnswerCluster, called: str | None) -> str:
    """Returns the size of a group, its exercise, and the suspected mistake, in words."""
    many = len(group.members)
    said = "1 submission answers" if many == 1 else f"{many} submissions answer alike"
    return f"{said} in {suspected(group, called)}"


def suspected(group: AnswerCluster, called: str | None) -> str:
    """Returns the exercise of a group, and the suspected mistake, in words."""
    known = f"named {called}" if called else one_line(group.suspicion or "why", 160)
    return f"{one_line(group.exercise)}: {known}{'' if called else '?'}"


def name_of(group: AnswerCluster, names: Sequence[NamedMistake]) -> str | None:
    """Returns the instructor's name for a group, if any."""
    known = (one.diagnosis.mistake for one in names if one.is_shown_by(group.answers))
    return next(known, None)


def case_in_words(answer: WrongAnswer) -> str:
    """Returns the inputs of a call and the answer to it, in words."""
    given = f"for {answer.inputs} the answer is" if answer.inputs else "an answer is"
    kind = _KINDS.get(answer.numbers[0]) if len(answer.shape) == 1 and answer.numbers else None
    if kind is not None:
        is_whole = answer.shape == (len(answer.numbers),)
        return f"{given} {(_row_in_words([*answer.numbers]) if is_whole else '') or kind}"
    numbers = ", ".join(f"{number:.4g}" for number in answer.numbers[:_MOST_NUMBERS])
    more = ", …" if len(answer.numbers) > _MOST_NUMBERS else ""
    shape = f"a tensor of shape {list(answer.shape)}: " if answer.shape else ""
    return f"{given} {shape}{numbers}{more}"


def _row_in_words(row: list[float]) -> str:
    """Returns the list of numbers and texts that a row stands for; "" for another value.

    Takes the numbers off the row. A submission may have chosen them to look like another row.
    """

    def value() -> object:
        first = row.pop(0)
        kind = _KINDS.get(first)
        if kind == "a tuple, list or set":
            return [value() for _ in range(int(row.pop(0)))]
        if kind == "a text":
            return "".join(chr(int(row.pop(0))) for _ in range(int(row.pop(0))))
        if kind is not None:
            raise ValueError
        return int(first) if first.is_integer() else float(f"{first:.4g}")

    try:
        return repr(value())
    except (ValueError, IndexError, OverflowError, RecursionError):
        return ""


def _group(group: AnswerCluster, called: str | None) -> Iterator[str]:
    yield f"{group.id}  {heading(group, called)}"
    yield f"    who:   {several([*group.members], shown=_MOST_MEMBERS)}"
    if group.also:
        others = [one.exercise for one in group.also]
        yield f"    also:  {several(others, shown=_MOST_MEMBERS)}"
    yield f"    tests: {several([*map(name_of_test, group.tests)], shown=_MOST_TESTS)}"
    yield f"    case:  {one_line(case_in_words(group.smallest), 300)}"


_ROWS = 300
_NOT_GRADED_LISTED = 5
_WIDEST_NAME = 28
# Columns between the name, the score and the complaint.
_BETWEEN = 4
_SHORTEST = 20
_ALARMED = 120

# The settlements of each submission.
_Finals = Mapping[str, tuple[Settlement, ...]]
# The people who handed each submission in.
_People = Mapping[str, tuple[Author, ...]]


def print_summary(
    results: Results,
    console: Console,
    settling: Settling | None = None,
    rows: int = _ROWS,
    details: bool = False,
) -> bool:
    """Prints a row for each of the first `rows` submissions, counts, and ungraded submissions.

    A row is one line; with `details`, it shows several causes in full. With `settling`, points are
    final; without, they are the tests' points.

    Returns whether every submission got its grade.
    """
    found: list[Grade] = []
    finals: dict[str, tuple[Settlement, ...]] = {}
    for grade in results.grades():
        status = grade.status if grade.is_complete else GradeStatus.NOT_GRADED
        found.append(replace(grade, status=status, tests=()))  # the tests of a class are many
        if settling is not None:
            finals[grade.submission] = settling.settle(grade)
    people = results.people.authors if settling is None else settling.handed_in
    if found:
        shown = found[:rows]
        console.print(
            _in_full(results, people, shown, finals)
            if details
            else _in_short(results, people, shown, finals, console.width)
        )
    if len(found) > rows:
        console.print(Text(f"and {len(found) - rows} more, counted below"))
    console.print(Text(f"\n{_counts(found, finals)}"))
    if changed := sum(_is_changed(row, finals) for row in found):
        scores = "1 score is" if changed == 1 else f"{changed} scores are"
        words = f"{scores} not the sum of the tests alone: the report and exports say why"
        console.print(Text(words), soft_wrap=True)
    not_graded = [row for row in found if row.status is GradeStatus.NOT_GRADED]
    if not_graded:
        console.print(_alarm(results, people, not_graded))
    return not not_graded


def _is_changed(row: Grade, finals: _Finals) -> bool:
    if _is_ungraded(row, finals):
        return False
    return any(final != row.score for final in _points(row, finals)) or not _points(row, finals)


def _is_ungraded(row: Grade, finals: _Finals) -> bool:
    decided = any(one.final is not None for one in finals.get(row.submission, ()))
    return row.status is GradeStatus.NOT_GRADED and not decided


def _points(row: Grade, finals: _Finals) -> tuple[float, ...]:
    """Returns the points of the people who get some; () if all are excused or get another grade."""
    if (own := finals.get(row.submission)) is None:
        return (row.score,)
    return tuple(one.final for one in own if one.final is not None)


def _worth(row: Grade, finals: _Finals) -> float:
    """Returns the possible points, without exercises that are taken out."""
    own = finals.get(row.submission)
    return points_of(own[0].worth) if own else row.max_score


def _in_short(
    results: Results, people: _People, rows: Sequence[Grade], finals: _Finals, width: int
) -> Table:
    """Returns a line for each submission: the people, the score, and the first cause."""
    names = [Text(one_line(name, _WIDEST_NAME)) for name in _names(people, rows)]
    scores = [_score(row, finals) for row in rows]
    taken = max(score.cell_len for score in scores) + _BETWEEN
    room = max(width - taken - _BETWEEN, _BETWEEN)  # or rich drops the scores
    widest = min(max(name.cell_len for name in names), _WIDEST_NAME, room)
    taken += widest
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True, max_width=widest, overflow="ellipsis")
    table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True, max_width=max(width - taken, 1), overflow="ellipsis")
    told = {row.submission: cells for row, *cells in zip(rows, names, scores, strict=True)}
    for grade in results.grades_of(told):
        name, score = told[grade.submission]
        table.add_row(name, score, Text(complaint(grade, max(width - taken, _SHORTEST))))
    return table


def _in_full(results: Results, people: _People, rows: Sequence[Grade], finals: _Finals) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("submission", max_width=40, overflow="fold")
    table.add_column("score", justify="right", no_wrap=True)
    table.add_column("what went wrong", overflow="fold", ratio=1)
    shown = {row.submission: row for row in rows}
    for grade in results.grades_of(shown):
        row = shown[grade.submission]
        table.add_row(
            Text(_label(people, row)),
            _score(row, finals),
            Text(complaints(grade)),
        )
    return table


def _names(people: _People, rows: Sequence[Grade]) -> list[str]:
    """Returns each submission's people, or its label if these are unknown or not unique."""
    authors = [people.get(row.submission, ()) for row in rows]
    names = [", ".join(map(author_in_words, own)) for own in authors]
    shared = Counter(names)
    return [
        name if name and shared[name] == 1 else _label(people, row)
        for name, row in zip(names, rows, strict=True)
    ]


def _label(people: _People, row: Grade) -> str:
    return labelled(row.submission, people.get(row.submission, ()))


def _score(row: Grade, finals: _Finals) -> Text:
    if _is_ungraded(row, finals):
        return Text("not graded", style="bold red")
    own = sorted(set(_points(row, finals)))
    if not own:
        return Text("excused" if finals.get(row.submission) else "another was taken instead")
    if row.status is GradeStatus.UNREADABLE and own == [0]:
        return Text("unreadable", style="yellow")
    worth = _worth(row, finals)
    style = "green" if own[0] >= worth else ""
    return Text(f"{'–'.join(map(points, own))} / {points(worth)}", style)


def _counts(rows: Sequence[Grade], finals: _Finals) -> str:
    of = Counter(row.status for row in rows)
    words = (
        f"{quantity(len(rows), 'submission')}: {of[GradeStatus.GRADED]} graded, "
        f"{of[GradeStatus.UNREADABLE]} unreadable, {of[GradeStatus.NOT_GRADED]} not graded"
    )
    graded = [row for row in rows if row.status is GradeStatus.GRADED]
    scores = [score for row in graded for score in _points(row, finals)]
    if not scores:
        return words
    full = max(_worth(row, finals) for row in graded if _points(row, finals))
    mean, median = points(statistics.fmean(scores)), points(statistics.median(scores))
    remark = " of those graded" if of[GradeStatus.UNREADABLE] else ""
    return f"{words}; mean {mean}, median {median} of {points(full)} points{remark}"


def _alarm(results: Results, people: _People, rows: Sequence[Grade]) -> Panel:
    text = Text()
    for row in rows[:_NOT_GRADED_LISTED]:
        grade = results.grade(row.submission)
        words = complaint(grade, _ALARMED) if grade else str(row.status)
        text.append(_label(people, row), style="bold").append(f": {words}\n")
    if len(rows) > _NOT_GRADED_LISTED:
        text.append(f"and {len(rows) - _NOT_GRADED_LISTED} more\n")
    text.append(
        "This is not the submissions' fault, and costs nobody points: "
        "run the same command again to grade what is left."
    )
    return Panel(text, title=f"{len(rows)} NOT GRADED", border_style="bold red")
