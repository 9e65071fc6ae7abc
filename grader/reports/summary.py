"""A class in words: its people, its clusters of wrong answers, and its table on a terminal."""

from __future__ import annotations

import shlex
import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from grader.core.explanation import WrongAnswer
from grader.core.names import several
from grader.core.submission import Author
from grader.core.text import one_line, points, quantity
from grader.core.verdict import GradeStatus, name_of_test
from grader.core.wire import ROW_MARKS
from grader.explain.mistakes.clusters import AnswerCluster
from grader.explain.mistakes.named_mistakes import NamedMistake
from grader.reports.pages.class_data import ClassData, ClassEntry, Graded
from grader.reports.standing import complaint
from grader.results.decisions.settling import Settling
from grader.results.results import Results

_SHOWN = 3


def absent_in_words(settling: Settling) -> list[str]:
    """Returns the names of the people who handed in nothing, and whether they are excused."""
    return [
        one_line(person.called) + (" (excused)" if settling.excused(person) else "")
        for person in settling.absentees
    ]


def labelled(submission: str, authors: Sequence[Author]) -> str:
    """Returns the authors' names, then the submission's; if no author is known, only the latter."""
    known = [author for author in authors if author.name or author.email]
    if not known:
        return one_line(submission)
    names = several([one_line(author.called) for author in known], shown=_SHOWN)
    return f"{names} ({one_line(submission)})"


_MOST_MEMBERS = 6
_MOST_TESTS = 4
_MOST_NUMBERS = 6
# A submission with answers like no other's is only counted.
AT_LEAST = 2
_KINDS = {mark: kind for kind, mark in ROW_MARKS.items()}


def in_words(
    groups: Sequence[AnswerCluster],
    names: Sequence[NamedMistake],
    folder: Path,
    unexplained: int = 0,
) -> Iterator[str]:
    """Yields the groups, the largest first, each with its tests and its smallest case.

    The last lines name commands on `folder`; `unexplained` submissions have no full explanation.
    """
    command = f"grader mistakes {shlex.quote(str(folder))}"
    called = {group.id: name_of(group, names) for group in groups}
    shown = [group for group in groups if len(group.members) >= AT_LEAST]
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
        yield f"{alone} {others} like nobody else"
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
# Columns of the score, and between the name, the score and the complaint.
_SCORE, _BETWEEN = 11, 4
_SHORTEST = 20


def print_summary(
    results: Results,
    settling: Settling,
    console: Console,
    rows: int = _ROWS,
    details: bool = False,
) -> ClassData:
    """Prints a row for each of the first `rows` submissions, counts, and ungraded submissions.

    A row is one line; with `details`, it shows several causes in full. Returns the class.
    """
    names = _names(results, settling, details)
    widest = min(max(map(cell_len, names.values()), default=0), _WIDEST_NAME)
    room = max(console.width - widest - _SCORE - _BETWEEN, 1)
    found, short = ClassData(), list[str]()
    for grade in results.grades():
        graded = Graded.of(grade)
        authors = settling.handed_in.get(grade.submission, ())
        found.add(graded, authors, settling.settle(grade))
        if len(short) < rows:
            short.append(complaint(grade, max(room, _SHORTEST), graded.causes))
    entries = found.entries
    shown = min(widest, max(console.width - _SCORE - 2 * _BETWEEN, _BETWEEN))
    table = _in_full() if details else _in_short(shown, room)
    for entry, said in zip(entries, short, strict=False):
        name = names.get(entry.submission, entry.name)
        table.add_row(Text(name), _score(entry), Text(entry.words if details else said))
    if entries:
        console.print(table)
    if len(entries) > rows:
        console.print(Text(f"and {len(entries) - rows} more, counted below"))
    console.print(Text(f"\n{_counts(found)}"))
    if changed := sum(entry.is_changed for entry in entries):
        scores = "1 score is" if changed == 1 else f"{changed} scores are"
        words = f"{scores} not the sum of the tests alone: the report and exports say why"
        console.print(Text(words), soft_wrap=True)
    if not_graded := [one for one in entries if one.status is GradeStatus.NOT_GRADED]:
        console.print(_alarm([(names.get(e.submission, e.name), e) for e in not_graded]))
    return found


def _in_short(name: int, room: int) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True, max_width=name, overflow="ellipsis")
    table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True, max_width=room, overflow="ellipsis")
    return table


def _in_full() -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("submission", max_width=40, overflow="fold")
    table.add_column("score", justify="right", no_wrap=True)
    table.add_column("what went wrong", overflow="fold", ratio=1)
    return table


def _names(results: Results, settling: Settling, labels: bool) -> dict[str, str]:
    """Returns each submission's people, or its label if these are unknown or not unique.

    With `labels`, each has its label, which holds the people and the submission's name.
    """
    authors = {name: settling.handed_in.get(name, ()) for name in results.submissions()}
    names = {name: ", ".join(one_line(one.called) for one in own) for name, own in authors.items()}
    shared = Counter(names.values())
    return {
        name: said if said and shared[said] == 1 and not labels else labelled(name, authors[name])
        for name, said in names.items()
    }


def _score(entry: ClassEntry) -> Text:
    if not entry.finals and entry.status is GradeStatus.NOT_GRADED and not entry.marks:
        return Text("not graded", style="bold red")
    own = sorted(set(entry.finals))
    if not own:
        return Text("excused" if "excused" in entry.marks else "another was taken instead")
    if entry.status is GradeStatus.UNREADABLE and own == [0]:
        return Text("unreadable", style="yellow")
    style = "green" if own[0] >= entry.max_score else ""
    return Text(f"{'–'.join(map(points, own))} / {points(entry.max_score)}", style)


def _counts(found: ClassData) -> str:
    of = Counter(entry.status for entry in found.entries)
    words = (
        f"{quantity(len(found.entries), 'submission')}: {of[GradeStatus.GRADED]} graded, "
        f"{of[GradeStatus.UNREADABLE]} unreadable, {of[GradeStatus.NOT_GRADED]} not graded"
    )
    if not (scores := found.scores):
        return words
    full = max(entry.max_score for entry in found.entries if entry.has_score)
    mean, median = points(statistics.fmean(scores)), points(statistics.median(scores))
    remark = " of those graded" if of[GradeStatus.UNREADABLE] else ""
    return f"{words}; mean {mean}, median {median} of {points(full)} points{remark}"


def _alarm(named: Sequence[tuple[str, ClassEntry]]) -> Panel:
    text = Text()
    for name, entry in named[:_NOT_GRADED_LISTED]:
        text.append(name, style="bold").append(f": {one_line(entry.words, 120)}\n")
    if len(named) > _NOT_GRADED_LISTED:
        text.append(f"and {len(named) - _NOT_GRADED_LISTED} more\n")
    text.append(
        "This is not the submissions' fault, and costs nobody points: "
        "run the same command again to grade what is left."
    )
    return Panel(text, title=f"{len(named)} NOT GRADED", border_style="bold red")
