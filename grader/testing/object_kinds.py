"""Kinds of values that stay in the worker: objects, classes, iterators, test-made objects.

A test may use the annotated methods and attributes that the contract's class declares.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from grader.core.wire.values import Foreign, Local, Value
from grader.testing.kinds import Kind, ListType, Misfit, Sizes, plural, with_article

# How handles describe themselves in arguments.
OBJECT, PARAMETER, PARAMETERS = "an object", "a parameter", "the parameters of a module"
MODULE, OPTIMIZER = "a module", "an optimizer"
PATH, STREAM, TEXT = "a path", "a binary file", "a text file"


@dataclass(frozen=True, slots=True)
class Signature:
    """The kinds of a method's parameters, in order, and of its result."""

    kinds: Mapping[str, Kind]
    result: Kind


class _Staying:
    """The base of kinds whose values stay in the worker; only a description crosses."""

    __slots__ = ()

    def taken(self, value: Value) -> Any:
        """Returns the description."""
        return value


@dataclass(frozen=True, slots=True)
class ObjectType(_Staying):
    """An object with the methods and attributes that a class of the contract declares."""

    name: str
    methods: Mapping[str, Signature]
    attributes: Mapping[str, Kind]

    def misfits(self, value: Value, _sizes: Sizes, place: str = "") -> Iterator[Misfit]:
        """Yields the value, if it is no object but plain data."""
        if not isinstance(value, Foreign | Local):
            yield Misfit(place, self, value)

    def __str__(self) -> str:
        names = [f"{name}()" for name in self.methods if name.isidentifier() and name[0] != "_"]
        return f"{with_article(self.name)} ({', '.join([*names, *self.attributes])})"


@dataclass(frozen=True, slots=True)
class ClassType(_Staying):
    """A class from which tests make objects."""

    made: ObjectType

    def misfits(self, value: Value, _sizes: Sizes, place: str = "") -> Iterator[Misfit]:
        """Yields the value, if it is plain data."""
        if not isinstance(value, Foreign | Local):
            yield Misfit(place, self, value)

    def __str__(self) -> str:
        return f"the class of {self.made}"


@dataclass(frozen=True, slots=True)
class IteratorType(_Staying):
    """The kind of a value that gives one item after another: an iterator, or a list of all."""

    item: Kind

    def misfits(self, value: Value, sizes: Sizes, place: str = "") -> Iterator[Misfit]:
        """Yields the value if it gives no items, or its items that are of another kind."""
        if isinstance(value, list | tuple):
            yield from ListType(self.item).misfits(list(value), sizes, place)
        elif not isinstance(value, Foreign | Local):
            yield Misfit(place, self, value)

    def __str__(self) -> str:
        return f"an iterator over {plural(self.item)}"


@dataclass(frozen=True, slots=True)
class ParameterType(_Staying):
    """A `torch.nn.Parameter`, which lives in the same process as the object that uses it."""

    def misfits(self, value: Value, _sizes: Sizes, place: str = "") -> Iterator[Misfit]:
        """Yields the value if it is neither a parameter nor a tensor to make one from."""
        if isinstance(value, Local):
            fits = value.kind in (PARAMETER, OBJECT)
        else:
            fits = isinstance(value, torch.Tensor)
        if not fits:
            yield Misfit(place, self, value)

    def __str__(self) -> str:
        return "a parameter"


@dataclass(frozen=True, slots=True)
class NumbersType(_Staying):
    """A tensor of any shape, for example the numbers of a parameter."""

    def misfits(self, value: Value, _sizes: Sizes, place: str = "") -> Iterator[Misfit]:
        """Yields the value, if it is no tensor."""
        if not isinstance(value, torch.Tensor):
            yield Misfit(place, self, value)

    def __str__(self) -> str:
        return "a tensor"


@dataclass(frozen=True, slots=True)
class GivenType(_Staying):
    """An object that tests make and adapters take; handles of the kinds `also` fit too."""

    what: str
    also: tuple[str, ...] = ()

    def misfits(self, value: Value, _sizes: Sizes, place: str = "") -> Iterator[Misfit]:
        """Yields the value, if a test made something else."""
        if not isinstance(value, Local) or value.kind not in (self.what, *self.also):
            yield Misfit(place, self, value)

    def __str__(self) -> str:
        return self.what


@dataclass(frozen=True, slots=True)
class IterableType(_Staying):
    """A list that is only iterated over: handles of the kinds `also` give the same items."""

    list: ListType
    also: tuple[str, ...]

    def misfits(self, value: Value, sizes: Sizes, place: str = "") -> Iterator[Misfit]:
        """Yields the value if it cannot be iterated over, or its elements of another kind."""
        if isinstance(value, Local) and value.kind in self.also:
            return
        own = list(value) if isinstance(value, tuple) else value
        yield from self.list.misfits(own, sizes, place)

    def taken(self, value: Value) -> Any:
        """Returns the list, of elements as tests see them."""
        return self.list.taken(value)

    def __str__(self) -> str:
        return str(self.list)
