"""Handles of what stays in the worker: a test calls methods, reads attributes, takes items.

A handle offers what the contract declares of its kind, and nothing else. Whatever is done becomes a
step of a script (`grader/wire/scripts.py`), which is carried out where the object lives.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Protocol

import torch

from grader.testing.contract import Adapter
from grader.testing.kinds import Anything, Kind, PlainType
from grader.testing.object_kinds import (
    ClassType,
    IteratorType,
    ObjectType,
    ParameterType,
    Signature,
)
from grader.testing.outcome import StudentFault
from grader.verdict import Status
from grader.wire.scripts import Doing, Step
from grader.wire.values import Local, Value, mapped

_MOST_ITEMS = 100_000


class EndOfItems(Exception):
    """There is no next item."""


class Script(Protocol):
    """What was done so far with what one call of an adapter returned."""

    steps: list[Step]

    def answer(self, adapter: Adapter, arguments: dict[str, Value]) -> Any:
        """The answer to the last step, of the kind that `adapter` says; its `arguments` by name.

        Raises:
            EndOfItems: if it was to give the next item, and there is none.
        """


def handle(kind: Kind, value: Any, script: Script, place: int, name: str) -> Any:
    """What a test gets of a kind: a value as it is, or a handle of what stays where it is.

    `place` is where the script made it, `name` what messages call it.
    """
    if isinstance(kind, ObjectType):
        return ObjectHandle(kind, script, place, name)
    if isinstance(kind, ClassType):
        return ClassHandle(kind, script, place, name)
    if isinstance(kind, ParameterType):
        return ParameterHandle(script, place, name)
    if isinstance(kind, IteratorType):
        return iter(value) if isinstance(value, list | tuple) else _items(kind, script, place, name)
    return value


def stays(kind: Kind) -> bool:
    """Whether what is of this kind stays in the worker."""
    return isinstance(kind, ObjectType | ClassType | ParameterType | IteratorType)


class _Handle:
    """Takes steps of a script."""

    _script: Script
    _place: int
    _name: str

    def __init__(self, script: Script, place: int, name: str) -> None:
        vars(self).update(_script=script, _place=place, _name=name)

    def parameter(self, tensor: torch.Tensor) -> ParameterHandle:
        """A parameter with these numbers, which lives beside the object."""
        self._script.steps.append(Step(0, Doing.KEEP, positional=(tensor,)))
        return ParameterHandle(self._script, len(self._script.steps), "the parameter")

    def _take(self, step: Step, adapter: Adapter, arguments: dict[str, Value]) -> Any:
        self._script.steps.append(step)
        place = len(self._script.steps)
        value = self._script.answer(adapter, arguments)
        return handle(adapter.result, value, self._script, place, adapter.name)

    def _called(self, method: str, name: str, signature: Signature, args: Any, kwargs: Any) -> Any:
        adapter = Adapter(name, signature.kinds, signature.result)
        positional, keywords = mapped(args, _as_value), mapped(kwargs, _as_value)
        bound = adapter.bind(positional, keywords)
        step = Step(self._place, Doing.CALL, method, positional, keywords)
        return self._take(step, adapter, bound)

    def _read(self, attribute: str, kind: Kind) -> Any:
        name = f"{self._name}.{attribute}" if attribute else self._name
        step = Step(self._place, Doing.READ, attribute)
        return self._take(step, Adapter(name, {}, kind), {})

    def _write(self, attribute: str, value: Any) -> None:
        step = Step(self._place, Doing.WRITE, attribute, (mapped(value, _as_value),))
        self._script.steps.append(step)


class ObjectHandle(_Handle):
    """An object: its declared methods are called, its declared attributes read and written."""

    def __init__(self, kind: ObjectType, script: Script, place: int, name: str) -> None:
        super().__init__(script, place, name)
        vars(self).update(_kind=kind)

    def __getattr__(self, name: str) -> Any:
        kind: ObjectType = vars(self)["_kind"]
        if name in kind.attributes:
            return self._read(name, kind.attributes[name])
        if name not in kind.methods:
            raise AttributeError(f"adapters.py declares no {name} of {kind}")

        def method(*args: Any, **kwargs: Any) -> Any:
            said = f"{self._name}.{name}"
            return self._called(name, said, kind.methods[name], args, kwargs)

        return method

    def __setattr__(self, name: str, value: Any) -> None:
        kind: ObjectType = vars(self)["_kind"]
        if name not in kind.attributes:
            raise AttributeError(f"adapters.py declares no attribute {name} of {kind}")
        self._write(name, value)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        signature = vars(self)["_kind"].methods["__call__"]
        return self._called("", self._name, signature, args, kwargs)

    def __len__(self) -> int:
        signature = Signature({}, PlainType(int))
        length: int = self._called("__len__", f"len of {self._name}", signature, (), {})
        return length


class ClassHandle(_Handle):
    """A class: a call makes an object."""

    def __init__(self, kind: ClassType, script: Script, place: int, name: str) -> None:
        super().__init__(script, place, name)
        self._kind = kind

    def __call__(self, *args: Any, **kwargs: Any) -> ObjectHandle:
        made = self._kind.made
        declared = made.methods.get("__init__")
        names = [*(f"argument {number}" for number in range(len(args))), *kwargs]
        kinds = declared.kinds if declared else dict.fromkeys(names, Anything())
        found: ObjectHandle = self._called("", self._name, Signature(kinds, made), args, kwargs)
        return found


class ParameterHandle(_Handle):
    """A parameter: its numbers, and the gradient that is put into it."""

    @property
    def value(self) -> torch.Tensor:
        """Its numbers as they are now."""
        numbers: torch.Tensor = self._read("", Anything())
        return numbers

    @property
    def grad(self) -> torch.Tensor | None:
        """Its gradient as it is now."""
        gradient: torch.Tensor | None = self._read("grad", Anything())
        return gradient

    @grad.setter
    def grad(self, gradient: torch.Tensor | None) -> None:
        self._write("grad", gradient)


def _items(kind: IteratorType, script: Script, place: int, name: str) -> Iterator[Any]:
    """The items, each asked for when it is wanted."""
    script.steps.append(Step(place, Doing.ITERATE))
    source = len(script.steps)
    adapter = Adapter(f"an item of {name}", {}, kind.item)
    for _ in range(_MOST_ITEMS):
        last = script.steps[-1]
        if last.doing is Doing.NEXT and last.on == source:
            script.steps[-1] = replace(last, times=last.times + 1)
        else:
            script.steps.append(Step(source, Doing.NEXT))
        try:
            yield script.answer(adapter, {})
        except EndOfItems:
            return
    raise StudentFault(
        Status.FAILED, f"{name} gave {_MOST_ITEMS} items, and was not at its end even then"
    )


def _as_value(value: Any) -> Any:
    """A handle as it stands in the arguments of a step."""
    return Local(vars(value)["_place"]) if isinstance(value, _Handle) else value
