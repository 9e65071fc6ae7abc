"""Kinds of what stays in the worker: objects, classes, iterators, and what tests make beside them.

What a class of the contract declares is what tests may do with an object: its annotated methods and
attributes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from grader.core.wire.values import Foreign, Local, Value
from grader.testing.kinds import Kind, ListType, Misfit, Sizes, plural, with_article

# What handles say of themselves in arguments.
OBJECT, PARAMETER, PARAMETERS = "an object", "a parameter", "the parameters of a module"
MODULE, OPTIMIZER = "a module", "an optimizer"
PATH, STREAM, TEXT = "a path", "a binary file", "a text file"


@dataclass(frozen=True, slots=True)
class Signature:
    """The kinds of a method's parameters, in order, and of its result."""

    kinds: Mapping[str, Kind]
    result: Kind


class _Staying:
    """Kinds of which only a description crosses."""

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
    """A class of which tests make objects."""

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
        """Yields the value, if nothing can be got of it one by one."""
        if isinstance(value, list | tuple):
            yield from ListType(self.item).misfits(list(value), sizes, place)
        elif not isinstance(value, Foreign | Local):
            yield Misfit(place, self, value)

    def __str__(self) -> str:
        return f"an iterator over {plural(self.item)}"


@dataclass(frozen=True, slots=True)
class ParameterType(_Staying):
    """A `torch.nn.Parameter` that lives where the object lives that uses it."""

    def misfits(self, value: Value, _sizes: Sizes, place: str = "") -> Iterator[Misfit]:
        """Yields the value, if it is no parameter, nor a tensor to make one of."""
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
    """A tensor of whatever shape: the numbers of a parameter, say."""

    def misfits(self, value: Value, _sizes: Sizes, place: str = "") -> Iterator[Misfit]:
        """Yields the value, if it is no tensor."""
        if not isinstance(value, torch.Tensor):
            yield Misfit(place, self, value)

    def __str__(self) -> str:
        return "a tensor"


@dataclass(frozen=True, slots=True)
class GivenType(_Staying):
    """The kind of an object that only tests make and adapters take, with the kinds that also do."""

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
    """A list that is only gone through: what gives the same items will do."""

    list: ListType
    also: tuple[str, ...]

    def misfits(self, value: Value, sizes: Sizes, place: str = "") -> Iterator[Misfit]:
        """Yields the value if nothing is to be gone through, or elements of another kind."""
        if isinstance(value, Local) and value.kind in self.also:
            return
        own = list(value) if isinstance(value, tuple) else value
        yield from self.list.misfits(own, sizes, place)

    def taken(self, value: Value) -> Any:
        """Returns the list, of elements as tests see them."""
        return self.list.taken(value)

    def __str__(self) -> str:
        return str(self.list)
