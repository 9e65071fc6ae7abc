"""Carries out scripts: objects live here, and what is done with them is done where they live."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from grader.core.wire.calls import Call
from grader.core.wire.scripts import Doing, Step
from grader.core.wire.values import Local, mapped
from grader.worker.calls.making import ScriptFiles
from grader.worker.calls.marshalling import arrived, same_values

Seed = Callable[[int], None]
Functions = Mapping[str, Callable[..., Any]]
# Returns what an adapter hands back for its arguments.
CallAdapter = Callable[[Callable[..., Any], Mapping[str, Any]], Any]


class NoAdapter(Exception):
    """A step asks an adapter that there is not; its name is the text."""


class Living:
    """The objects that the latest call made, for a call whose script continues it.

    `functions` are the adapters that steps may ask; `called` is what was called last.
    Adapters are called by `call`.
    """

    def __init__(
        self, functions: Functions | None = None, call: CallAdapter = lambda one, own: one(**own)
    ) -> None:
        self._functions = functions or {}
        self._call_adapter = call
        self._call: Call | None = None
        self._made: list[Any] = []
        self._workshop = ScriptFiles()
        self.called: Callable[..., Any] | None = None

    def __enter__(self) -> Living:
        return self

    def __exit__(self, *_: object) -> None:
        self.forget()

    def result(
        self,
        function: Callable[..., Any],
        arguments: Mapping[str, Any],
        call: Call,
        seed: Seed | None = None,
    ) -> Any:
        """Returns the result of a call with all of its steps; steps taken before are not repeated.

        Each step has its own seed, whether others were taken just before or not.

        Raises:
            NoAdapter: if a step asks an adapter that there is not.
        """
        before, then = self._left(call)
        self._call = None
        self._take(before, call.device, seed)
        if call.adapter and len(self._made) == len(call.before):
            self._seed(seed)
            own = _found(arguments, self._made) if call.before else arguments
            self._made.append(self._asked(function, own))
        self._take(then, call.device, seed)
        self._call = call
        return self._made[-1]

    def forget(self) -> None:
        """Lets go of what was made, and removes its files."""
        self._call, self._made = None, []
        self._workshop.close()

    def _take(self, steps: Sequence[Step], device: str, seed: Seed | None) -> None:
        for step in steps:
            self._seed(seed)
            self._made.append(self._done(step, device))

    def _asked(self, adapter: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
        self.called = adapter
        return self._call_adapter(adapter, arguments)

    def _seed(self, seed: Seed | None) -> None:
        if seed is not None:
            seed(len(self._made))

    def _left(self, call: Call) -> tuple[Sequence[Step], Sequence[Step]]:
        """Returns the steps before a call and after it that are still to be taken."""
        left = self._goes_on(call)
        if left is None:
            self.forget()
            return call.before, call.then
        return left

    def _goes_on(self, call: Call) -> tuple[Sequence[Step], Sequence[Step]] | None:
        """Returns the same; None if nothing was done yet of what a call wants."""
        if self._call is None or not call.is_script or not _are_of_one(self._call, call):
            return None
        done, wanted = _all_steps(self._call), _all_steps(call)
        if not done or len(done) > len(wanted) or not all(map(_alike, done[:-1], wanted)):
            return None
        last, now = done[-1], wanted[len(done) - 1]
        if not _alike(replace(last, times=now.times), now) or last.times > now.times:
            return None
        rest = list(wanted[len(done) :])
        if last.times < now.times:
            self._made.pop()
            rest.insert(0, replace(now, times=now.times - last.times))
        first = max(0, len(call.before) - len(self._made))
        asks = bool(call.adapter) and len(self._made) <= len(call.before)
        return rest[:first], rest[first + asks :]

    def _done(self, step: Step, device: str) -> Any:
        positional = _found(arrived(list(step.positional), device), self._made)
        keywords = _found(arrived(dict(step.keywords), device), self._made)
        if step.doing is Doing.MAKE:
            return self._workshop.make(step.name, positional, keywords)
        self._workshop.flush()
        if step.doing is Doing.ASK:
            if step.name not in self._functions:
                raise NoAdapter(step.name)
            return self._asked(self._functions[step.name], keywords)
        thing = self._made[step.on]
        if step.doing is Doing.WRITE:
            return setattr(thing, step.name, positional[0])
        if step.doing is Doing.ITERATE:
            return iter(thing)
        if step.doing is Doing.NEXT:
            return _next(thing, step.times)
        self.called = None
        own = getattr(thing, step.name) if step.name else thing
        if step.doing is not Doing.CALL:
            return own
        self.called = own
        return own(*positional, **keywords)


def _are_of_one(one: Call, other: Call) -> bool:
    heads = [(call.seed, call.device, call.default_device) for call in (one, other)]
    return heads[0] == heads[1]


def _all_steps(call: Call) -> Sequence[Step]:
    """Returns the steps of a call, itself among them."""
    asked = [Step(0, Doing.ASK, call.adapter, (), call.arguments)] if call.adapter else []
    return [*call.before, *asked, *call.then]


def _alike(one: Step, other: Step) -> bool:
    if one is other:
        return True
    heads = [(step.on, step.doing, step.name, step.times) for step in (one, other)]
    values = [[*step.positional, dict(step.keywords)] for step in (one, other)]
    return heads[0] == heads[1] and same_values(*values)


def _next(items: Iterator[Any], times: int) -> Any:
    for _ in range(times - 1):
        next(items)
    return next(items)


def _found(value: Any, made: Sequence[Any]) -> Any:
    """Returns the value with what earlier steps made where it says so."""
    return mapped(value, lambda one: made[one.number] if isinstance(one, Local) else one)
