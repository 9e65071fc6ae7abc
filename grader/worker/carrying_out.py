"""Carries out scripts: objects live here, and what is done with them is done where they live."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from grader.wire.calls import Call
from grader.wire.scripts import Doing, Step
from grader.wire.values import Local, mapped
from grader.worker.handing_over import arrived, same_values

Seed = Callable[[int], None]


def carry_out(made: list[Any], steps: Sequence[Step], device: str = "cpu") -> Any:
    """What the last of some steps gives; everything on the way is added to what was `made`.

    `made` begins with what the adapter returned.
    """
    for step in steps:
        made.append(_done(step, made, device))
    return made[-1]


class Living:
    """What the latest call made, for the one whose script goes on where that one's ended."""

    def __init__(self) -> None:
        self._call: Call | None = None
        self._made: list[Any] = []

    def result(
        self, function: Callable[..., Any], arguments: Mapping[str, Any], call: Call, seed: Seed
    ) -> Any:
        """What a call gives, with all of its steps; those that were taken before are not again.

        Each step has its own random numbers, the same whether others were taken just before or not.
        """
        left = self._left(call)
        self._call = None
        if left is None:
            seed(0)
            self._made, left = [function(**arguments)], call.then
        for step in left:
            seed(len(self._made))
            carry_out(self._made, [step], call.device)
        self._call = call
        return self._made[-1]

    def forget(self) -> None:
        """Lets go of what was made."""
        self._call, self._made = None, []

    def _left(self, call: Call) -> Sequence[Step] | None:
        """The steps that are still to be taken; None if everything is."""
        if self._call is None or not call.then or not _begin_alike(self._call, call):
            return None
        done, wanted = self._call.then, call.then
        if len(done) > len(wanted) or not all(map(_alike, done[:-1], wanted)):
            return None
        if not done:
            return wanted
        last, now = done[-1], wanted[len(done) - 1]
        if not _alike(replace(last, times=now.times), now) or last.times > now.times:
            return None
        if last.times == now.times:
            return wanted[len(done) :]
        self._made.pop()
        return [replace(now, times=now.times - last.times), *wanted[len(done) :]]


def _begin_alike(one: Call, other: Call) -> bool:
    heads = [(call.adapter, call.seed, call.device, call.default_device) for call in (one, other)]
    return heads[0] == heads[1] and same_values(dict(one.arguments), dict(other.arguments))


def _alike(one: Step, other: Step) -> bool:
    heads = [(step.on, step.doing, step.name, step.times) for step in (one, other)]
    values = [[*step.positional, dict(step.keywords)] for step in (one, other)]
    return heads[0] == heads[1] and same_values(*values)


def _done(step: Step, made: Sequence[Any], device: str) -> Any:
    positional = [_local(value, made, device) for value in step.positional]
    keywords = {name: _local(value, made, device) for name, value in step.keywords.items()}
    if step.doing is Doing.KEEP:
        return torch.nn.Parameter(positional[0])
    thing = made[step.on]
    if step.doing is Doing.WRITE:
        return setattr(thing, step.name, positional[0])
    if step.doing is Doing.ITERATE:
        return iter(thing)
    if step.doing is Doing.NEXT:
        return _next(thing, step.times)
    own = getattr(thing, step.name) if step.name else thing
    return own(*positional, **keywords) if step.doing is Doing.CALL else own


def _next(items: Iterator[Any], times: int) -> Any:
    for _ in range(times - 1):
        next(items)
    return next(items)


def _local(value: Any, made: Sequence[Any], device: str) -> Any:
    def found(one: Any) -> Any:
        return made[one.number] if isinstance(one, Local) else one

    return mapped(arrived(value, device), found)
