"""Handles of objects that stay in the worker: tests call methods, read attributes, take items.

A handle offers only what the contract declares for its kind. Each use becomes a step of a script
(`grader/testing/handles/scripts.py`), which runs where the object lives.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import torch

from grader.core.verdict import Status
from grader.core.wire.scripts import Doing, Step
from grader.core.wire.values import Local, Value, mapped, parts
from grader.testing.contract import Adapter
from grader.testing.handles.scripts import EndOfItems, Script, Thing
from grader.testing.kinds import (
    NUMBERS,
    OBJECT,
    PARAMETER,
    Anything,
    ClassType,
    IteratorType,
    Kind,
    ObjectType,
    OneOf,
    ParameterType,
    PlainType,
    Signature,
)
from grader.testing.outcome import StudentFault

_MOST_ITEMS = 10_000


def handle(kind: Kind, value: Any, thing: Thing, name: str) -> Any:
    """Returns a value as a test gets it: the value itself, or a handle if it stays in the worker.

    Messages call it `name`.
    """
    if isinstance(kind, ObjectType):
        return ObjectHandle(kind, thing, name)
    if isinstance(kind, ClassType):
        return ClassHandle(kind, thing, name)
    if isinstance(kind, ParameterType):
        return ParameterHandle(thing, name)
    if isinstance(kind, IteratorType):
        return iter(value) if isinstance(value, list | tuple) else _items(kind, thing, name)
    return value


def stays(kind: Kind) -> bool:
    """Returns whether values of this kind stay in the worker."""
    return isinstance(kind, ObjectType | ClassType | ParameterType | IteratorType)


def asked(
    script: Script, adapter: Adapter, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Any:
    """Adds a call of an adapter to a script; returns its value. The arguments may hold handles."""
    script = joined(script, args, kwargs)
    bound = adapter.bind(mapped(args, as_value), mapped(dict(kwargs), as_value))
    return _taken(script, Step(0, Doing.ASK, adapter.name, (), bound), adapter, bound)


def joined(script: Script, *values: Any) -> Script:
    """Returns one script of all, after joining the scripts of all handles among values.

    A script that hands a file on stands first: all else belongs to the new process.
    """
    for one in _handles_in(values):
        other = one._thing.script
        if other is not script:
            if other.hands_on:
                script, other = other, script
            script.join(other)
    return script


def script_of(*values: Any) -> Script | None:
    """Returns the script of the first handle among values."""
    first = next(_handles_in(values), None)
    return None if first is None else first._thing.script


def as_value(value: Any) -> Any:
    """Returns a handle as an argument of a step in the same script."""
    return value._local() if isinstance(value, Handle) else value


class Handle:
    """A stand-in for an object that stays where it was made; `_what` names the kind of object.

    Its own attributes are private, because a contract may declare any public name.
    """

    _what = OBJECT
    _thing: Thing
    _name: str

    def __init__(self, thing: Thing, name: str) -> None:
        vars(self).update(_thing=thing, _name=name)

    def _local(self) -> Local:
        return Local(self._thing.place, self._what)

    def _called(self, method: str, name: str, signature: Signature, args: Any, kwargs: Any) -> Any:
        adapter = Adapter(name, signature.kinds, signature.result)
        script = joined(self._thing.script, args, kwargs)
        positional, keywords = mapped(args, as_value), mapped(kwargs, as_value)
        bound = adapter.bind(positional, keywords)
        step = Step(self._thing.place, Doing.CALL, method, positional, keywords)
        return _taken(script, step, adapter, bound)

    def _read(self, attribute: str, kind: Kind) -> Any:
        name = f"{self._name}.{attribute}" if attribute else self._name
        step = Step(self._thing.place, Doing.READ, attribute)
        return _taken(self._thing.script, step, Adapter(name, {}, kind), {})

    def _write(self, attribute: str, value: Any) -> None:
        script = joined(self._thing.script, value)
        written = (mapped(value, as_value),)
        script.take(Step(self._thing.place, Doing.WRITE, attribute, written))


class ObjectHandle(Handle):
    """An object, with the methods and attributes that the contract declares."""

    def __init__(self, kind: ObjectType, thing: Thing, name: str) -> None:
        super().__init__(thing, name)
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
        return self._special("__call__", "", args, kwargs)

    def __getitem__(self, key: Any) -> Any:
        return self._special("__getitem__", "__getitem__", (key,), {})

    def _special(self, name: str, method: str, args: Any, kwargs: Any) -> Any:
        kind: ObjectType = vars(self)["_kind"]
        if name not in kind.methods:
            raise TypeError(f"adapters.py declares no {name} of {kind}")
        return self._called(method, f"{self._name}.{name}", kind.methods[name], args, kwargs)

    # Without these, Python would ask for items until the submission raises an IndexError.
    __iter__ = None
    __contains__ = None

    def __bool__(self) -> bool:
        return True

    def __len__(self) -> int:
        signature = Signature({}, PlainType(int))
        length: int = self._called("__len__", f"len of {self._name}", signature, (), {})
        return length


class ClassHandle(Handle):
    """A class; a call of it makes an object."""

    _what = "a class"

    def __init__(self, kind: ClassType, thing: Thing, name: str) -> None:
        super().__init__(thing, name)
        self._kind = kind

    def __call__(self, *args: Any, **kwargs: Any) -> ObjectHandle:
        made = self._kind.made
        declared = made.methods.get("__init__")
        names = [*(f"argument {number}" for number in range(len(args))), *kwargs]
        kinds = declared.kinds if declared else dict.fromkeys(names, Anything())
        found: ObjectHandle = self._called("", self._name, Signature(kinds, made), args, kwargs)
        return found


class ParameterHandle(Handle):
    """A parameter: its numbers and its gradient, which a test may set."""

    _what = PARAMETER

    @property
    def value(self) -> torch.Tensor:
        """Returns the parameter's current numbers."""
        numbers: torch.Tensor = self._read("", NUMBERS)
        return numbers

    @property
    def grad(self) -> torch.Tensor | None:
        """Returns the parameter's current gradient."""
        gradient: torch.Tensor | None = self._read("grad", OneOf((NUMBERS, PlainType(type(None)))))
        return gradient

    @grad.setter
    def grad(self, gradient: torch.Tensor | None) -> None:
        self._write("grad", gradient)


def _taken(script: Script, step: Step, adapter: Adapter, arguments: Mapping[str, Value]) -> Any:
    """Adds a step to a script and returns the step's value as a test sees it."""
    thing = script.take(step)
    value = script.answer(adapter, arguments)
    return handle(adapter.result, value, thing, adapter.name)


def _handles_in(value: Any) -> Iterator[Handle]:
    return (one for one in parts(value) if isinstance(one, Handle))


def _items(kind: IteratorType, thing: Thing, name: str) -> Iterator[Any]:
    """Yields an iterator's items, and asks for each only when it is needed."""
    source = thing.script.take(Step(thing.place, Doing.ITERATE))
    adapter = Adapter(f"an item of {name}", {}, kind.item, is_item=True)
    for number in range(_MOST_ITEMS + 1):
        steps = source.script.steps
        if steps[-1].doing is Doing.NEXT and steps[-1].on == source.place:
            steps[-1] = replace(steps[-1], times=steps[-1].times + 1)
        else:
            source.script.take(Step(source.place, Doing.NEXT))
        try:
            item = source.script.answer(adapter, {})
        except EndOfItems:
            # When the steps run again, they must not ask for more items than there are.
            last = steps.pop()
            if last.times > 1:
                steps.append(replace(last, times=last.times - 1))
            return
        if number < _MOST_ITEMS:
            yield item
    raise StudentFault(
        Status.FAILED, f"{name} gave {_MOST_ITEMS} items, and had not ended even then"
    )
