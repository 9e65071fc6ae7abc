"""Tells which line of a stack is to blame: functions that take a step rightly elsewhere are not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from grader.testing.layouts import KnownSteps, Steps
from grader.wire.records import Line, Record


@dataclass(frozen=True, slots=True)
class Proof:
    """A function takes a step rightly on the way to another exercise's right answer.

    `covers` are all the steps that it takes there, `asked` all that are asked for there.
    """

    file: str
    function: str
    step: str
    covers: frozenset[str]
    asked: frozenset[str]

    def holds_for(self, step: str, names: Sequence[str]) -> bool:
        """Whether it proves a step among those that are asked for here, in this order.

        It does not if the function covers a stretch into which a step falls that was not asked for
        there: it may be just that one which is missing.
        """
        if step not in names:
            return False
        if step != self.step:
            return bool(set(step.split()) & set(self.step.split()))
        start = min(names.index(name) for name in self.covers if name in names)
        return self.asked >= {*names[start : names.index(step)]}


Proven = Collection[Proof]
Function = tuple[str, str]


def proof_of(records: Iterable[Record], right: Steps) -> set[Proof]:
    """What functions show on the way to a right answer with these steps."""
    known, covers = KnownSteps.of(right), defaultdict[tuple[str, str], set[str]](set)
    for record in records:
        steps = known.likeness(record.value)
        for line in record.stack if steps else ():
            covers[line.file, line.function].update(steps)
    asked = frozenset(right)
    return {
        Proof(file, function, step, frozenset(steps), asked)
        for (file, function), steps in covers.items()
        for step in steps
    }


def sound_functions(proven: Proven, step: str, right: Steps) -> set[Function]:
    """The functions that are known to take a step rightly, in this order of steps."""
    names = list(right)
    return {(one.file, one.function) for one in proven if one.holds_for(step, names)}


def to_blame(
    record: Record, sound: Collection[Function], elsewhere: Iterable[Sequence[Line]] = ()
) -> Line | None:
    """The innermost line of a record whose function is not known to be sound.

    Nor is a line to blame that took another step rightly in the same call, on behalf of another
    line: `elsewhere` are the stacks of such steps.
    """
    stack = record.stack
    served = max((_shared(stack, other) for other in elsewhere), default=0)
    for line in reversed(stack[: len(stack) - served]):
        if (line.file, line.function) not in sound:
            return line
    return stack[-1] if stack else None


def _shared(stack: Sequence[Line], other: Sequence[Line]) -> int:
    """How many of the innermost lines of two stacks are the same, if not all of either."""
    most = min(len(stack), len(other))
    same = next((n for n in range(most) if stack[-1 - n] != other[-1 - n]), most)
    return same if same < most else 0
