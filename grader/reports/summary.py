"""The people of a class and its clusters of wrong answers, in words."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from grader.core.explanation import WrongAnswer
from grader.core.names import several
from grader.core.submission import Author
from grader.core.text import one_line
from grader.core.verdict import name_of_test
from grader.core.wire import ROW_MARKS
from grader.explain.mistakes.clusters import AnswerCluster, NamedMistake
from grader.results.decisions.settling import Settling

_SHOWN = 3


def author_in_words(author: Author) -> str:
    """Returns the author's name, or else the e-mail address or the id."""
    return one_line(author.called)


def absent_in_words(settling: Settling) -> list[str]:
    """Returns the names of the people who handed in nothing, and whether they are excused."""
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
