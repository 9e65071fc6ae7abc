"""The rules that reduce the points of a test: wrong values of its exercise, and forbidden
functions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from grader.core.points import OF_THE_VALUES, Gate, hundredths, points_of, shared_out
from grader.core.text import plain
from grader.core.verdict import Aspect, Status, Verdict
from grader.sandbox.forbidden_uses import Uses
from grader.testing.wording import TAKEN_OFF, WISH, in_words


def gated(verdicts: Iterable[Verdict]) -> Iterator[Verdict]:
    """Yields the verdicts with the points that count, each as it is reached.

    The values of an exercise come before the rest of it, so that a verdict that was said stands.
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


def ungated(verdict: Verdict) -> Verdict:
    """Returns a verdict as `gated` got it, but for its points."""
    *others, last = (verdict.message or "").split("\n")
    if not last.endswith(OF_THE_VALUES):
        return verdict
    return verdict._replace(message="\n".join(others) or None)


def remarked(message: str | None, remark: str) -> str:
    """Returns a verdict's message, with a remark on a line of its own."""
    return f"{message}\n{remark}" if message else remark


def applied(
    tests: Sequence[Verdict], uses: Uses, costs: Mapping[str, float]
) -> tuple[Verdict, ...]:
    """Returns the verdicts with what the rules take off, and a note on a test of each exercise.

    `costs` are the percentages of its points that an exercise loses which calls a forbidden name.
    """
    judged = list(tests)
    for exercise, called in uses.called.items():
        places = [place for place, test in enumerate(tests) if test.exercise == exercise]
        earned = [place for place in places if tests[place].score > 0]
        cost = max(costs[use.name] for use in called)
        remark = f"uses {plain(in_words(called))}, {WISH}"
        if cost:
            remark += f": {cost:g}% {TAKEN_OFF}"
            for place, score in zip(earned, _lessened(tests, earned, cost), strict=True):
                judged[place] = judged[place]._replace(score=score)
        for place in earned if cost and earned else (earned or places)[:1]:
            message = remarked(tests[place].message, remark)
            judged[place] = judged[place]._replace(message=message)
    return tuple(judged)


def _lessened(tests: Sequence[Verdict], places: Sequence[int], cost: float) -> list[float]:
    """Returns the points of these tests after `cost` percent of their sum is taken off."""
    earned = [hundredths(tests[place].score) for place in places]
    left = hundredths(points_of(sum(earned)) * (100 - cost) / 100)
    return [points_of(part) for part in shared_out(left, earned)] if earned else []


def summary(uses: Uses) -> str | None:
    """Returns one sentence about all that the submission called; None if that is nothing."""
    called = dict.fromkeys(use for of_one in uses.called.values() for use in of_one)
    called |= uses.at_import
    return f"it uses {plain(in_words(called))}, {WISH}" if called else None
