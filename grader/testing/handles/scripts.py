"""Scripts as tests write them: step by step, by what they do with handles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from grader.core.wire.calls import Call
from grader.core.wire.scripts import Doing, Step
from grader.core.wire.values import Local, Value, mapped
from grader.testing.contract.contract import Adapter
from grader.testing.handles.remarks import Came


class EndOfItems(Exception):
    """There is no next item."""


class Owner(Protocol):
    """Who carries scripts out: the student's side, or the reference's."""

    def answer(self, script: Script, adapter: Adapter, arguments: Mapping[str, Value]) -> Any:
        """The answer to the last step, of the kind that `adapter` says; its `arguments` by name.

        Raises:
            EndOfItems: if it was to give the next item, and there is none.
        """

    def fault(self, text: str) -> Exception:
        """What is raised where something that was made is not as it must be."""


class Script:
    """The steps that a test took so far with some things; `owner` carries them out.

    Things of two scripts that are used in one step are of one script from then on.
    """

    def __init__(self, owner: Owner) -> None:
        self.owner = owner
        self.steps: list[Step] = []
        # What a reference made so far, and its steps in float64; see there.
        self.kept: Any = None
        self.exact: list[tuple[Step, Step]] = []
        # What stays of what came, by the number of the step.
        self.came: dict[int, Came] = {}
        self._joined: tuple[Script, int] | None = None

    def take(self, step: Step) -> Thing:
        """What one more step gives."""
        self.steps.append(step)
        return Thing(self, len(self.steps) - 1)

    def answer(self, adapter: Adapter, arguments: Mapping[str, Value]) -> Any:
        """The answer to the last step."""
        return self.owner.answer(self, adapter, arguments)

    def join(self, other: Script) -> None:
        """Has the steps of another script follow, which goes on as this one."""
        offset = len(self.steps)
        self.steps += [_moved(step, offset) for step in other.steps]
        self.came |= {place + offset: one for place, one in other.came.items()}
        other.steps, other.came, other._joined = [], {}, (self, offset)

    def found(self) -> tuple[Script, int]:
        """The script that this one goes on as, and where its own steps begin there."""
        if self._joined is None:
            return self, 0
        script, offset = self._joined
        last, further = script.found()
        return last, offset + further


@dataclass(frozen=True, slots=True)
class Thing:
    """What a step of a script gave, which stays where it was made."""

    _script: Script
    _place: int

    @property
    def script(self) -> Script:
        """The script that it is of."""
        return self._script.found()[0]

    @property
    def place(self) -> int:
        """The number of its step."""
        return self._script.found()[1] + self._place


def _moved(step: Step, offset: int) -> Step:
    def move(value: Any) -> Any:
        return replace(value, number=value.number + offset) if isinstance(value, Local) else value

    keywords = {name: mapped(value, move) for name, value in step.keywords.items()}
    on = step.on + offset
    return replace(step, on=on, positional=mapped(step.positional, move), keywords=keywords)


def call_of(steps: Sequence[Step], adapter: str) -> Call:
    """Steps as a call: the last one of this adapter, else of any, with what is before and after."""
    asked = [place for place, step in enumerate(steps) if step.doing is Doing.ASK]
    own = [place for place in asked if steps[place].name == adapter]
    if not asked:
        return Call("", {}, before=tuple(steps))
    place = (own or asked)[-1]
    call = steps[place]
    before, then = tuple(steps[:place]), tuple(steps[place + 1 :])
    return Call(call.name, call.keywords, before=before, then=then)
