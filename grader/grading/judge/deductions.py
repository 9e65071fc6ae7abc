"""Rules that reduce the points of tests: wrong values of the exercise, and forbidden functions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from grader.core.points import BY_HAND, TAKEN_OFF, Gate, hundredths, points_of, shared_out
from grader.core.text import plain
from grader.core.verdict import Aspect, Status, Verdict
from grader.sandbox.claims import Uses
from grader.testing.outcome import uses_in_words

_FREE = " (this costs no points)"


def gated(verdicts: Iterable[Verdict]) -> Iterator[Verdict]:
    """Yields the verdicts with the points that count, without waiting for later verdicts.

    Tests of an exercise's values must come before its other tests, as the suite orders them.
    """
    gates: dict[str, Gate] = defaultdict(Gate)
    for verdict in verdicts:
        gate = gates[verdict.exercise]
        if verdict.aspect is Aspect.VALUES:
            worth, passed = hundredths(verdict.max_score), verdict.status is Status.PASSED
            gate.add_values(hundredths(verdict.score), worth, passed)
            yield verdict
        elif verdict.status is Status.PASSED and gate.share < 1:
            score = points_of(gate.counted(hundredths(verdict.score)))
            yield verdict._replace(score=score, message=remarked(verdict.message, gate.remark))
        else:
            yield verdict


def remarked(message: str | None, remark: str) -> str:
    """Returns a verdict's message, with a remark on a line of its own."""
    return f"{message}\n{remark}" if message else remark


def applied(
    tests: Sequence[Verdict], uses: Uses, costs: Mapping[str, float]
) -> tuple[Verdict, ...]:
    """Returns the verdicts after the deductions for forbidden calls, with remarks on tests.

    `costs` holds, by forbidden name, the percentage of its points that a calling exercise loses.
    """
    judged = list(tests)
    for exercise, called in uses.called.items():
        places = [place for place, test in enumerate(tests) if test.exercise == exercise]
        earned = [place for place in places if tests[place].score > 0]
        cost = max(costs[use.name] for use in called)
        remark = f"The submission uses {plain(uses_in_words(called))}, {BY_HAND}"
        if cost:
            remark += f": {cost:g}% {TAKEN_OFF}"
            for place, score in zip(earned, _lessened(tests, earned, cost), strict=True):
                judged[place] = judged[place]._replace(score=score)
        else:
            remark += _FREE
        for place in earned if cost and earned else (earned or places)[:1]:
            message = remarked(tests[place].message, remark)
            judged[place] = judged[place]._replace(message=message)
    return tuple(judged)


def _lessened(tests: Sequence[Verdict], places: Sequence[int], cost: float) -> list[float]:
    """Returns the points of these tests after `cost` percent of their sum is taken off."""
    earned = [hundredths(tests[place].score) for place in places]
    left = hundredths(points_of(sum(earned)) * (100 - cost) / 100)
    return [points_of(part) for part in shared_out(left, earned)] if earned else []


def summary(uses: Uses, costs: Mapping[str, float]) -> str | None:
    """Returns one sentence about the forbidden names that the submission uses; None without any."""
    called = dict.fromkeys(use for of_one in uses.called.values() for use in of_one)
    if uses.at_import and not called:
        at_import = plain(uses_in_words(uses.at_import))
        return f"it calls {at_import} while it is imported, and in no exercise{_FREE}"
    if not called:
        return None
    called |= uses.at_import
    free = "" if any(costs[use.name] for use in called) else _FREE
    return f"it uses {plain(uses_in_words(called))}, {BY_HAND}{free}"
