"""Scripts in which a file is handed on to a new process: their two halves, each a call of its own.

Where a script is carried out in one process, the file is copied there. Whoever grades a submission
asks the first half in one worker and the second in another, which imports the submission anew: what
was not written into the file is gone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from grader.core.wire.calls import Call
from grader.core.wire.scripts import Doing, Step
from grader.core.wire.values import Local, Value, mapped
from grader.testing.handles.scripts import call_of
from grader.worker.marshalling import ANEW, same_values

# What is to be known where the second half raised.
REMARK = "By then your program had been imported again: only the file was left of what was saved."


class TwoProcesses:
    """A call whose script hands a file on, after the `place`-th of its steps."""

    def __init__(self, call: Call, steps: Sequence[Step], place: int) -> None:
        self._call = call
        self._steps = steps
        self._place = place

    @property
    def first(self) -> Call:
        """Returns the steps in the first process; its answer is the content of the file."""
        file = self._steps[self._place].positional[0]
        look = Step(0, Doing.MAKE, "content", (file,))
        return self._part([*self._steps[: self._place], look])

    def follows(self, other: TwoProcesses | None) -> bool:
        """Returns whether the steps in the first process are those of another call."""
        if other is None or other._place != self._place:
            return False
        pairs = zip(self._steps[: self._place], other._steps, strict=False)
        return all(one is same or _are_same(one, same) for one, same in pairs)

    def second(self, content: Value) -> Call:
        """Returns the steps in the second process, which begin with the file."""
        name = self._steps[self._place].positional[1]
        given = content if isinstance(content, bytes) else None
        made = Step(0, Doing.MAKE, "file", (name, given))
        rest = [_moved(step, self._place) for step in self._steps[self._place + 1 :]]
        return self._part([made, *rest])

    def _part(self, steps: Sequence[Step]) -> Call:
        part = call_of(steps, self._call.adapter)
        names = ("adapter", "arguments", "before", "then")
        own: dict[str, Any] = {name: getattr(part, name) for name in names}
        return replace(self._call, frame=None, **own)


def in_two_processes(call: Call) -> TwoProcesses | None:
    """Returns the halves of a call whose script hands a file on; None if it does not."""
    if not any(_hands_on(step) for step in (*call.before, *call.then)):
        return None
    asked = [Step(0, Doing.ASK, call.adapter, (), call.arguments)] if call.adapter else []
    steps = [*call.before, *asked, *call.then]
    return TwoProcesses(
        call, steps, max(place for place, one in enumerate(steps) if _hands_on(one))
    )


def _are_same(one: Step, other: Step) -> bool:
    bare, same = (replace(step, positional=(), keywords={}) for step in (one, other))
    return bare == same and same_values(
        (one.positional, one.keywords), (other.positional, other.keywords)
    )


def _hands_on(step: Step) -> bool:
    return step.doing is Doing.MAKE and step.name == ANEW


def _moved(step: Step, before: int) -> Step:
    """Returns a step with the numbers that things have in the second process."""

    def move(value: Any) -> Any:
        return replace(value, number=value.number - before) if isinstance(value, Local) else value

    keywords = {name: mapped(value, move) for name, value in step.keywords.items()}
    on = max(0, step.on - before)
    return replace(step, on=on, positional=mapped(step.positional, move), keywords=keywords)
