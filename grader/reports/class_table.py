"""The table of a class on a terminal, at the end of a batch."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from grader.core.text import one_line, points, quantity
from grader.core.verdict import GradeStatus
from grader.reports.pages.class_data import ClassData, ClassEntry, Graded
from grader.reports.standing import complaint
from grader.reports.summary import author_in_words, labelled
from grader.results.decisions.settling import Settling
from grader.results.results import Results

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
        short.append(complaint(grade, max(room, _SHORTEST), graded.causes))
    entries = found.entries
    shown = min(widest, max(console.width - _SCORE - 2 * _BETWEEN, _BETWEEN))
    table = _in_full() if details else _in_short(shown, room)
    for entry, said in list(zip(entries, short, strict=True))[:rows]:
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
    names = {name: ", ".join(map(author_in_words, own)) for name, own in authors.items()}
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
