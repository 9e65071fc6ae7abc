"""Scripts as tests write them, and the history of a value.

A script may hand a file on to a new process. If the script runs in one process, the file is only
copied. In class, the two halves run in two workers. The second worker imports the submission
again, and only the content of the file is left from the first half.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from grader.core.wire.calls import Call
from grader.core.wire.scripts import Doing, Step
from grader.core.wire.values import Local, Value, mapped, parts
from grader.testing.contract import Adapter
from grader.worker.marshalling import ANEW
from grader.worker.performing import alike

_MAKING = (Doing.MAKE, Doing.ASK)


class BadThing(Exception):
    """A test asks for an object that cannot be made beside the submission, or not be used there."""


class EndOfItems(Exception):
    """There is no next item."""


class Owner(Protocol):
    """The side that carries scripts out: the student's or the reference's."""

    def answer(self, script: Script, adapter: Adapter, arguments: Mapping[str, Value]) -> Any:
        """Returns the answer to the last step, of the kind that `adapter` says.

        Raises:
            EndOfItems: if the step asks for the next item, and there is none.
        """

    def fault(self, text: str) -> Exception:
        """Returns the exception for a test-made object that was left in a wrong state."""


class Script:
    """The steps that a test has taken so far with some objects; `owner` runs them.

    A step that uses objects of two scripts joins the scripts.
    """

    def __init__(self, owner: Owner) -> None:
        self.owner = owner
        self.steps: list[Step] = []
        # Used by `Reference`: the objects that it made so far.
        self.kept: Any = None
        # The numbers of the steps whose values stay in the worker.
        self.came: set[int] = set()
        self._joined: tuple[Script, int] | None = None
        # The step that hands a file on to a new process, where only later steps run.
        self._anew = 0

    @property
    def hands_on(self) -> bool:
        """Returns whether a step hands a file on to a new process."""
        return self._anew > 0

    def take(self, step: Step) -> Thing:
        """Adds a step to the script and returns the thing that the step gives.

        Raises:
            BadThing: if it uses an object that was left behind in the process before.
        """
        if _hands_on(step):
            self._anew = len(self.steps)
        elif self._anew and min(_used(step), default=self._anew) < self._anew:
            raise BadThing(
                "made before in_a_new_process(), and used after it: only the new file is left there"
            )
        self.steps.append(step)
        return Thing(self, len(self.steps) - 1)

    def answer(self, adapter: Adapter, arguments: Mapping[str, Value]) -> Any:
        """Returns the answer to the last step."""
        return self.owner.answer(self, adapter, arguments)

    def join(self, other: Script) -> None:
        """Appends the steps of another script, which from then on refers to this one."""
        offset = len(self.steps)
        self.steps += [_moved(step, offset) for step in other.steps]
        self.came |= {place + offset for place in other.came}
        self._anew = offset + other._anew if other._anew else self._anew
        other.steps, other.came, other._joined = [], set(), (self, offset)

    def found(self) -> tuple[Script, int]:
        """Returns the script that holds this one's steps now, and where they begin there."""
        if self._joined is None:
            return self, 0
        script, offset = self._joined
        last, further = script.found()
        return last, offset + further


@dataclass(frozen=True, slots=True)
class Thing:
    """The value of a script's step, which stays where it was made."""

    _script: Script
    _place: int

    @property
    def script(self) -> Script:
        """Returns the script that holds its step."""
        return self._script.found()[0]

    @property
    def place(self) -> int:
        """Returns the number of its step in that script."""
        return self._script.found()[1] + self._place


def _moved(step: Step, offset: int) -> Step:
    """Returns a step whose references to other steps are moved by `offset`."""

    def move(value: Any) -> Any:
        return replace(value, number=value.number + offset) if isinstance(value, Local) else value

    keywords = {name: mapped(value, move) for name, value in step.keywords.items()}
    on = max(0, step.on + offset)
    return replace(step, on=on, positional=mapped(step.positional, move), keywords=keywords)


def _used(step: Step) -> list[int]:
    """Returns the numbers of the steps that gave what a step acts on or is given."""
    used = [] if step.doing in _MAKING else [step.on]
    given = parts((step.positional, step.keywords))
    return [*used, *(one.number for one in given if isinstance(one, Local))]


def call_of(steps: Sequence[Step], adapter: str) -> Call:
    """Returns the steps as a call: the adapter's last step, with the ones before and after."""
    asked = [place for place, step in enumerate(steps) if step.doing is Doing.ASK]
    own = [place for place in asked if steps[place].name == adapter]
    if not asked:
        return Call("", {}, before=tuple(steps))
    place = (own or asked)[-1]
    call = steps[place]
    before, then = tuple(steps[:place]), tuple(steps[place + 1 :])
    return Call(call.name, call.keywords, before=before, then=then)


# A remark for exceptions in the second half.
REMARK = "By then your program had been imported again: only the file was left of what was saved."


@dataclass(frozen=True, slots=True)
class TwoProcesses:
    """A call whose script hands a file on, in the step number `place`."""

    _call: Call
    _steps: Sequence[Step]
    _place: int

    @property
    def first(self) -> Call:
        """Returns the call for the first process; its answer is the content of the file."""
        file = self._steps[self._place].positional[0]
        look = Step(0, Doing.MAKE, "content", (file,))
        return self._part([*self._steps[: self._place], look])

    def follows(self, other: TwoProcesses | None) -> bool:
        """Returns whether another call has the same steps in the first process."""
        if other is None or other._place != self._place:
            return False
        return all(map(alike, self._steps[: self._place], other._steps))

    def second(self, content: Value) -> Call:
        """Returns the call for the second process, whose steps begin with the file."""
        name = self._steps[self._place].positional[1]
        given = content if isinstance(content, bytes) else None
        made = Step(0, Doing.MAKE, "file", (name, given))
        rest = [_moved(step, -self._place) for step in self._steps[self._place + 1 :]]
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
    place = max(place for place, one in enumerate(call.steps) if _hands_on(one))
    return TwoProcesses(call, call.steps, place)


def _hands_on(step: Step) -> bool:
    return step.doing is Doing.MAKE and step.name == ANEW
