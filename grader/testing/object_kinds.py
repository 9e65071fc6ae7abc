"""Kinds of values that stay in the worker: objects, classes, iterators, test-made objects.

A test may use the annotated methods and attributes that the contract's class declares.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import torch

from grader.core.wire.values import Foreign, Local, Value
from grader.testing.kinds import (
    Kind,
    ListType,
    Misfit,
    Sizes,
    plural,
    with_article,
)

# How handles describe themselves in arguments.
OBJECT, PARAMETER, PARAMETERS = "an object", "a parameter", "the parameters of a module"
MODULE, OPTIMIZER = "a module", "an optimizer"
PATH, STREAM, TEXT = "a path", "a binary file", "a text file"
# How a class is described that came in place of an object.
_CLASS = "a class ("
# The methods of Python's own that messages list beside those with names of their own.
_SHOWN = ("__call__", "__getitem__")


@dataclass(frozen=True, slots=True)
class Signature:
    """The kinds of a method's parameters, in order, and of its result."""

    kinds: Mapping[str, Kind]
    result: Kind


@dataclass(frozen=True, slots=True)
class ObjectType(Kind):
    """An object with the methods and attributes that a class of the contract declares."""

    name: str
    methods: Mapping[str, Signature]
    attributes: Mapping[str, Kind]

    def _fits(self, value: Value, _sizes: Sizes) -> bool:
        if isinstance(value, Foreign):
            return not value.description.startswith(_CLASS)
        return isinstance(value, Local)

    def __str__(self) -> str:
        names = [f"{name}()" for name in self.methods if name[0] != "_" or name in _SHOWN]
        return f"{with_article(self.name)} ({', '.join([*names, *self.attributes])})"


@dataclass(frozen=True, slots=True)
class ClassType(Kind):
    """A class from which tests make objects."""

    made: ObjectType

    def _fits(self, value: Value, _sizes: Sizes) -> bool:
        return isinstance(value, Foreign | Local)

    def __str__(self) -> str:
        return f"the class of {self.made}"


@dataclass(frozen=True, slots=True)
class IteratorType(Kind):
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
class ParameterType(Kind):
    """A `torch.nn.Parameter`, which lives in the same process as the object that uses it."""

    def _fits(self, value: Value, _sizes: Sizes) -> bool:
        if isinstance(value, Local):
            return value.kind in (PARAMETER, OBJECT)
        return isinstance(value, torch.Tensor)

    def __str__(self) -> str:
        return "a parameter"


@dataclass(frozen=True, slots=True)
class GivenType(Kind):
    """An object that tests make and adapters take; handles of the kinds `also` fit too."""

    what: str
    also: tuple[str, ...] = ()

    def _fits(self, value: Value, _sizes: Sizes) -> bool:
        return isinstance(value, Local) and value.kind in (self.what, *self.also)

    def __str__(self) -> str:
        return self.what
