"""Groups of wrong answers, as a terminal shows them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from grader.core.text import one_line
from grader.core.wrong_answers import WrongAnswer
from grader.explain.mistakes.grouping import AnswerCluster
from grader.explain.mistakes.names import NamedMistake

_MOST_MEMBERS = 6
_MOST_TESTS = 4
_MOST_NUMBERS = 6
# Who answers like nobody else is a group only for who asks for it.
AT_LEAST = 2


def in_words(
    groups: Sequence[AnswerCluster], names: Sequence[NamedMistake], everyone: bool = False
) -> Iterator[str]:
    """The groups, the largest first, each with its tests and its smallest case."""
    called = {group.id: name_of(group, names) for group in groups}
    shown = [group for group in groups if everyone or len(group.members) >= AT_LEAST]
    for group in shown:
        yield from _group(group, called[group.id])
        yield ""
    alone = len(groups) - len(shown)
    if not groups:
        yield "Every wrong answer has a name, or there is none."
    elif alone:
        others = "submission answers" if alone == 1 else "times a submission answers"
        yield f"{alone} {others} like nobody else: --all lists them."
    unnamed = [group for group in shown if called[group.id] is None]
    if unnamed:
        yield (
            f"To name a group: grader mistakes name DIR {unnamed[0].id} ID "
            '--sentence "Your …" --hint "…?"'
        )


def heading(group: AnswerCluster, called: str | None) -> str:
    """How many answer alike, where, and what it may be."""
    many = len(group.members)
    said = "1 submission answers" if many == 1 else f"{many} submissions answer alike"
    return f"{said} in {suspected(group, called)}"


def suspected(group: AnswerCluster, called: str | None) -> str:
    """The exercise, and what it may be."""
    known = f"named {called}" if called else one_line(group.suspicion or "why", 160)
    return f"{one_line(group.exercise)}: {known}{'' if called else '?'}"


def name_of(group: AnswerCluster, names: Sequence[NamedMistake]) -> str | None:
    """What an instructor calls a group."""
    known = (one.diagnosis.mistake for one in names if one.is_shown_by(group.answers))
    return next(known, None)


def case_in_words(answer: WrongAnswer) -> str:
    """What was asked, and what came."""
    numbers = ", ".join(f"{number:.4g}" for number in answer.numbers[:_MOST_NUMBERS])
    more = ", …" if len(answer.numbers) > _MOST_NUMBERS else ""
    return f"for {answer.inputs or 'nothing'} the answer is {list(answer.shape)}: {numbers}{more}"


def _group(group: AnswerCluster, called: str | None) -> Iterator[str]:
    yield f"{group.id}  {heading(group, called)}"
    yield f"    who:   {_some(group.members, _MOST_MEMBERS)}"
    if group.also:
        others = [one.exercise for one in group.also]
        yield f"    also:  {_some(others, _MOST_MEMBERS)}"
    tests = [test.partition("::")[2] or test for test in group.tests]
    yield f"    tests: {_some(tests, _MOST_TESTS)}"
    yield f"    case:  {one_line(case_in_words(group.smallest), 300)}"


def _some(names: Sequence[str], most: int) -> str:
    shown = ", ".join(one_line(name, 80) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
