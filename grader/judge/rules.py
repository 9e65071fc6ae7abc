"""The rules of the assignment: what a submission used of what is forbidden, and what it costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from grader.plain_text import plain
from grader.sandbox.uses import Uses
from grader.testing.uses import WISH, in_words
from grader.verdict import Verdict


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
        remark = f"calls {plain(in_words(called))}, {WISH}"
        if cost:
            remark += f": {cost:g} % of this exercise's points are taken off"
        for place in earned if cost and earned else (earned or places)[:1]:
            judged[place] = _remarked(tests[place], remark, 1 - cost / 100)
    return tuple(judged)


def summary(uses: Uses) -> str | None:
    """One sentence about all that the submission called; None if that is nothing."""
    called = dict.fromkeys(use for of_one in uses.called.values() for use in of_one)
    called |= uses.at_import
    return f"it uses {plain(in_words(called))}, {WISH}" if called else None


def _remarked(verdict: Verdict, remark: str, share: float) -> Verdict:
    message = f"{verdict.message}; {remark}" if verdict.message else remark
    return verdict._replace(score=round(verdict.score * share, 6), message=message)
