"""No work, no points: other aspects count as far as their exercise's values are right."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from grader.core.points import OF_THE_VALUES, Gate, hundredths, points_of
from grader.core.verdict import Aspect, Status, Verdict


def gated(verdicts: Iterable[Verdict]) -> Iterator[Verdict]:
    """The verdicts with the points that count, each as it is reached.

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
    """A verdict as `gated` got it, but for its points."""
    *others, last = (verdict.message or "").split("\n")
    if not last.endswith(OF_THE_VALUES):
        return verdict
    return verdict._replace(message="\n".join(others) or None)


def remarked(message: str | None, remark: str) -> str:
    """A verdict's message, with a remark on a line of its own."""
    return f"{message}\n{remark}" if message else remark
