"""The rules of the assignment: what a submission used of what is forbidden, and what it costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from grader.core.plain_text import plain
from grader.core.points import hundredths, points_of, shared_out
from grader.core.verdict import Verdict
from grader.grading.judge.gate import remarked
from grader.sandbox.forbidden_uses import Uses
from grader.testing.uses import WISH, in_words


def applied(
    tests: Sequence[Verdict], uses: Uses, costs: Mapping[str, float]
) -> tuple[Verdict, ...]:
    """The verdicts with what the rules take off, and a note on a test of each exercise.

    `costs` are the percentages of its points that an exercise loses which calls a forbidden name.
    """
    judged = list(tests)
    for exercise, called in uses.called.items():
        places = [place for place, test in enumerate(tests) if test.exercise == exercise]
        earned = [place for place in places if tests[place].score > 0]
        cost = max(costs[use.name] for use in called)
        remark = f"uses {plain(in_words(called))}, {WISH}"
        if cost:
            remark += f": {cost:g} % of this exercise's points are taken off"
            for place, score in zip(earned, _lessened(tests, earned, cost), strict=True):
                judged[place] = judged[place]._replace(score=score)
        for place in earned if cost and earned else (earned or places)[:1]:
            message = remarked(tests[place].message, remark)
            judged[place] = judged[place]._replace(message=message)
    return tuple(judged)


def _lessened(tests: Sequence[Verdict], places: Sequence[int], cost: float) -> list[float]:
    """What these tests earn after `cost` percent of their sum, in hundredths, are taken off."""
    earned = [hundredths(tests[place].score) for place in places]
    left = hundredths(points_of(sum(earned)) * (100 - cost) / 100)
    return [points_of(part) for part in shared_out(left, earned)] if earned else []


def summary(uses: Uses) -> str | None:
    """One sentence about all that the submission called; None if that is nothing."""
    called = dict.fromkeys(use for of_one in uses.called.values() for use in of_one)
    called |= uses.at_import
    return f"it uses {plain(in_words(called))}, {WISH}" if called else None
