"""Tells which line of a stack is to blame: those that take a step rightly elsewhere are not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from grader.explaining.deadline import NEVER, Deadline
from grader.explaining.lines.layouts import RESULT, KnownSteps, Steps
from grader.wire.records import Line, Record


@dataclass(frozen=True, slots=True)
class Proof:
    """Lines of a function take a step rightly on the way to another exercise's right answer.

    `covers` are all the steps that the function takes there, `asked` all that are asked for there.
    """

    lines: frozenset[Line]
    step: str
    covers: frozenset[str]
    asked: frozenset[str]

    def holds_for(self, step: str, names: Sequence[str]) -> bool:
        """Whether it proves a step among those that are asked for here, in this order.

        A function whose result is all that was asked for is right in every step. Any other is not
        if it covers a stretch into which a step falls that was not asked for there: it may be just
        that one which is missing.
        """
        if step not in names:
            return False
        if self.covers == {RESULT} or RESULT in (step, self.step):
            return self.covers == {RESULT}
        if step != self.step:
            return bool(set(step.split()) & set(self.step.split()))
        start = min(names.index(name) for name in self.covers if name in names)
        return self.asked >= {*names[start : names.index(step)]}


Proven = Collection[Proof]


def proof_of(records: Iterable[Record], right: Steps, deadline: Deadline = NEVER) -> list[Proof]:
    """What functions show on the way to a right answer with these steps.

    Raises:
        TooLate: if the deadline passes.
    """
    known = KnownSteps.of(right)
    lines = defaultdict[tuple[str, str], dict[str, set[Line]]](dict)
    for record in deadline.each(records):
        for step in known.likeness(record.value):
            for line in record.stack:
                lines[line.file, line.function].setdefault(step, set()).add(line)
    asked = frozenset(right)
    return [
        Proof(frozenset(own), step, frozenset(steps), asked)
        for steps in lines.values()
        for step, own in steps.items()
    ]


def sound_lines(proven: Proven, step: str, right: Steps) -> set[Line]:
    """The lines that are known to take a step rightly, in this order of steps."""
    names = list(right)
    return {line for one in proven if one.holds_for(step, names) for line in one.lines}


def to_blame(
    record: Record, sound: Collection[Line], elsewhere: Iterable[Sequence[Line]] = ()
) -> Line | None:
    """The innermost line of a record that is not known to be sound.

    Nor is a line to blame that took another step rightly in the same call, on behalf of another
    line: `elsewhere` are the stacks of such steps.
    """
    stack = record.stack
    served = max((_shared(stack, other) for other in elsewhere), default=0)
    for line in reversed(stack[: len(stack) - served]):
        if line not in sound:
            return line
    return stack[-1] if stack else None


def _shared(stack: Sequence[Line], other: Sequence[Line]) -> int:
    """How many of the innermost lines of two stacks are the same, if not all of either."""
    most = min(len(stack), len(other))
    same = next((n for n in range(most) if stack[-1 - n] != other[-1 - n]), most)
    return same if same < most else 0
