"""Remarks below a cause, about those of its tests that the headline does not describe."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from grader.core.causes import PASSES_AT_HOME, STEPS_TOLD, Cause, FailedTest
from grader.core.text import begun_small, titled, unstopped
from grader.core.verdict import Diagnosis, Status

# The most other failures that are listed.
_MOST_WAYS = 3
_STEPS_ELSEWHERE = "Steps that are right in another test: "


def remarks(cause: Cause) -> Iterator[str]:
    """Yields the remarks, a sentence each: steps, other failures, mistakes of other exercises."""
    yield from _steps_of_another_test(cause)
    yield from _other_failures(cause)
    yield from _passing_at_home(cause)
    yield from _named_elsewhere(cause)


def _steps_of_another_test(cause: Cause) -> Iterator[str]:
    """Yields the right steps of another test of the root, unless the shown test has its own."""
    if cause.shown.line(STEPS_TOLD) is not None:
        return
    own = (test for test in cause.tests if test.exercise == cause.exercises[0])
    said = next(filter(None, (test.line(STEPS_TOLD) for test in own)), None)
    if said is not None:
        yield f"{_STEPS_ELSEWHERE}{said.removeprefix(STEPS_TOLD)}"


def _other_failures(cause: Cause) -> Iterator[str]:
    """Yields one failure for each way of failing that differs from the shown test's.

    Yields nothing if the cause's sentence is about the code, since that holds for every failure.
    Exceptions of one line may have several reasons: another one is only said to be raised too.
    """
    if cause.sentence != cause.shown.outcome:
        return
    ways: dict[str, FailedTest] = {cause.shown.way: cause.shown}
    for test in cause.tests:
        if not test.is_on_new_inputs:
            ways.setdefault(test.way, test)
    _, *others = ways.values()
    for test in others[:_MOST_WAYS]:
        if cause.shown.status is test.status is Status.ERROR:
            yield f"Also raised: {titled(test.exercise, test.headline)}"
        else:
            yield f"Another failure of this cause: {titled(test.exercise, test.outcome)}"
    if len(others) > _MOST_WAYS:
        yield f"and {len(others) - _MOST_WAYS} more"


def _passing_at_home(cause: Cause) -> Iterator[str]:
    """Yields the tests that pass at home, unless the shown test is one of them."""
    own = [test.id.rpartition("::")[2] for test in cause.tests if test.headline == PASSES_AT_HOME]
    if own and cause.shown.headline != PASSES_AT_HOME:
        yield f"{_in_short(own, 'test')}: {PASSES_AT_HOME}"


def _named_elsewhere(cause: Cause) -> Iterator[str]:
    """Yields the known mistakes that other exercises show, if the root exercise shows none."""
    if cause.mistake is not None:
        return
    told: dict[str, Diagnosis] = {}
    shown: dict[str, list[str]] = {}
    for exercise in cause.exercises:
        mistake = cause.mistake_of(exercise)
        if mistake is not None:
            told.setdefault(mistake.mistake, mistake)
            shown.setdefault(mistake.mistake, []).append(exercise)
    for name, mistake in told.items():
        said = begun_small(unstopped(mistake.explanation))
        yield f"In {_in_short(shown[name])}: {said} [{name}]"


def _in_short(names: Sequence[str], noun: str = "exercise") -> str:
    first, *others = names
    return first + (f" and {len(others)} more {noun}{'s' * (len(others) > 1)}" if others else "")
