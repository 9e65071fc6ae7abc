"""Remarks below a cause: of tests of which its headline, or the test that is told, is not true."""

from __future__ import annotations

from collections.abc import Iterator

from grader.core.causes import STEPS_TOLD, Cause, FailedTest, begun_small, titled
from grader.core.verdict import Diagnosis

# Ways of failing that are told beside the first.
_MOST_WAYS = 3


def remarks(cause: Cause) -> Iterator[str]:
    """Yields the remarks, a sentence each: steps, other failures, mistakes of other exercises."""
    yield from _steps_of_another_test(cause)
    yield from _other_failures(cause)
    yield from _named_elsewhere(cause)


def _steps_of_another_test(cause: Cause) -> Iterator[str]:
    """Yields how far another test of the root is right, if the one in full does not say that."""
    if STEPS_TOLD in cause.shown.message:
        return
    own = (test for test in cause.tests if test.exercise == cause.exercises[0])
    lines = (line for test in own for line in test.message.splitlines())
    said = next((line for line in lines if line.startswith(STEPS_TOLD)), None)
    if said is not None:
        yield f"In another of these tests, {begun_small(said)}"


def _other_failures(cause: Cause) -> Iterator[str]:
    """Yields failures of which the cause's sentence is not true, each way of failing once.

    There are none where the sentence is about the code.
    """
    if cause.sentence != cause.shown.outcome:
        return
    ways: dict[str, FailedTest] = {cause.shown.way: cause.shown}
    for test in cause.tests:
        ways.setdefault(test.way, test)
    _, *others = ways.values()
    for test in others[:_MOST_WAYS]:
        yield f"Another failure of this cause: {titled(test.exercise, test.outcome)}"
    if len(others) > _MOST_WAYS:
        yield f"and {len(others) - _MOST_WAYS} more"


def _named_elsewhere(cause: Cause) -> Iterator[str]:
    """Yields the mistakes that other exercises show, where the root shows none."""
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
        first, *others = shown[name]
        more = f" and {len(others)} more exercise{'s' * (len(others) > 1)}" if others else ""
        said = begun_small(mistake.explanation.removesuffix("."))
        yield f"In {first}{more}: {said} [{name}]"
