"""Kinds of what stays in the worker: objects, classes, iterators and parameters.

What a class of the contract declares is what tests may do with an object: its annotated methods and
attributes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from grader.testing.kinds import Kind, ListType, Misfit, Sizes, with_article
from grader.wire.values import Foreign, Local, Value


@dataclass(frozen=True, slots=True)
class Signature:
    """The kinds of a method's parameters, in order, and of its result."""

    kinds: Mapping[str, Kind]
    result: Kind


class _Staying:
    """Kinds of which only a description crosses."""

    __slots__ = ()

    def taken(self, value: Value) -> Any:
        """The description."""
        return value


@dataclass(frozen=True, slots=True)
class ObjectType(_Staying):
    """An object with the methods and attributes that a class of the contract declares."""

    name: str
    methods: Mapping[str, Signature]
    attributes: Mapping[str, Kind]

    def misfits(self, value: Value, _sizes: Sizes, place: str = "") -> Iterator[Misfit]:
        """The value, if it is no object but plain data."""
        if not isinstance(value, Foreign | Local):
            yield Misfit(place, self, value)

    def __str__(self) -> str:
        names = [f"{name}()" for name in self.methods if name.isidentifier() and name[0] != "_"]
        return f"{with_article(self.name)} ({', '.join([*names, *self.attributes])})"


@dataclass(frozen=True, slots=True)
class ClassType(_Staying):
    """A class of which tests make objects."""

    made: ObjectType

    def misfits(self, value: Value, _sizes: Sizes, place: str = "") -> Iterator[Misfit]:
        """The value, if it is plain data."""
        if not isinstance(value, Foreign | Local):
            yield Misfit(place, self, value)

    def __str__(self) -> str:
        return f"the class of {self.made}"


@dataclass(frozen=True, slots=True)
class IteratorType(_Staying):
    """What gives one item after another: an iterator, or a list of all."""

    item: Kind

    def misfits(self, value: Value, sizes: Sizes, place: str = "") -> Iterator[Misfit]:
        """The value, if nothing can be got of it one by one."""
        if isinstance(value, list | tuple):
            yield from ListType(self.item).misfits(list(value), sizes, place)
        elif not isinstance(value, Foreign | Local):
            yield Misfit(place, self, value)

    def __str__(self) -> str:
        return f"an iterator over {self.item}"


@dataclass(frozen=True, slots=True)
class ParameterType(_Staying):
    """A `torch.nn.Parameter` that lives where the object lives that uses it."""

    def misfits(self, value: Value, _sizes: Sizes, place: str = "") -> Iterator[Misfit]:
        """The value, if it is no parameter, nor a tensor to make one of."""
        if not isinstance(value, Local | torch.Tensor):
            yield Misfit(place, self, value)

    def __str__(self) -> str:
        return "a parameter"
