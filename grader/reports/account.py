"""What a person reads of a cause, wherever there is room for a paragraph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from grader.core.causes import Cause, FailedTest, causes
from grader.core.plain_text import plain
from grader.core.points import OF_THE_VALUES, hundredths, points_of, total
from grader.core.text import one_line, points
from grader.core.verdict import Aspect, Status, Verdict

_LONGEST = 300
_NAMES = 8


def causes_of(verdicts: Iterable[Verdict]) -> tuple[Cause, ...]:
    """Why tests did not pass, in the order of their exercises; what is missing comes last.

    What other tests count less because an exercise's values are wrong is lost by what makes these
    wrong.
    """
    judged, failed, lessened = list(verdicts), [], Counter[str]()
    for verdict in judged:
        if verdict.status is not Status.PASSED:
            failed.append(FailedTest.of(verdict))
        elif OF_THE_VALUES in (verdict.message or ""):
            lessened[verdict.exercise] += hundredths(verdict.max_score - verdict.score)
    for place, test in enumerate(failed):
        if test.aspect is Aspect.VALUES and test.exercise in lessened:
            more = points_of(lessened.pop(test.exercise))
            failed[place] = replace(test, lost=total((test.lost, more)))
    return causes(failed, [verdict.exercise for verdict in judged])


def title(cause: Cause, longest: int = _LONGEST) -> str:
    """The sentence, and the id of the mistake beside it."""
    said = one_line(cause.sentence, longest)
    if cause.shown.status is Status.NOT_GRADED:
        said = f"Not graded, which costs nothing: {said}"
    return f"{said} [{one_line(cause.id)}]" if cause.id else said


def paragraph(cause: Cause) -> Iterator[str]:
    """What there is to read below the title: the hint, one message in full, and the line."""
    if cause.hint:
        yield f"Hint: {plain(cause.hint)}" if cause.mistake else plain(cause.hint)
    below = message_below(cause)
    named = [f"{file}, line {line}" for file, line in cause.shown.places]
    if cause.lines and not any(place in below for place in named):
        yield f"at {one_line(cause.lines, _LONGEST)}"
    if below:
        yield plain(below)


def message_below(cause: Cause) -> str:
    """The message of the test that is told; without its first line, if that is the title."""
    if cause.mistake is not None or len(cause.sentence) > _LONGEST:
        return cause.shown.message
    return cause.shown.message.partition("\n")[2]


def extent(cause: Cause) -> str:
    """What it fails, that at the root first: "13 tests of run_x; also fails run_y: 97 tests"."""
    if cause.shown.status is Status.MISSING:
        return f"{listed(cause.exercises, _NAMES)}: {tests(len(cause.tests))}"
    root, *others = cause.exercises
    own = sum(test.exercise == root for test in cause.tests)
    said = f"{tests(own)} of {one_line(root)}"
    if not others:
        return said
    return f"{said}; also fails {listed(others, _NAMES)}: {tests(len(cause.tests) - own)}"


def cost(cause: Cause) -> str:
    """The points that its tests cost, in parentheses; "" if these are none."""
    lost = points(cause.lost)
    return "" if lost == "0" or cause.shown.status is Status.NOT_GRADED else f"(-{lost} points)"


def is_of_values(cause: Cause) -> bool:
    """Whether plain answers are wrong, which counts most."""
    return any(test.aspect is Aspect.VALUES for test in cause.tests)


def listed(exercises: Iterable[str], most: int) -> str:
    """The names of exercises, so many of them: "run_x, run_y and 3 more"."""
    names = [one_line(name) for name in exercises]
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def tests(number: int) -> str:
    """So many tests, in words."""
    return "1 test" if number == 1 else f"{number} tests"
