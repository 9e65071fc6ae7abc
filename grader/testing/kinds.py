"""Kinds: the types of values that cross between processes, and checks that a value fits.

A kind is read once from an annotation of `adapters.py`. The checks run on hostile answers: they
only look at types, sizes and shapes. Objects, classes and iterators stay in the worker, as do the
objects that tests make there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy
import torch

from grader.core.wire.values import Elsewhere, Foreign, Local, Named, Value
from grader.core.wire.values_in_words import in_words

# How handles describe themselves in arguments.
OBJECT, PARAMETER, PARAMETERS = "an object", "a parameter", "the parameters of a module"
MODULE, OPTIMIZER = "a module", "an optimizer"
PATH, STREAM, TEXT = "a path", "a binary file", "a text file"
# A handle that stands for a str.
TEXT_PATH = "the path of a file"
# How a class is described that came in place of an object.
_CLASS = "a class ("
# The methods of Python's own that messages list beside those with names of their own.
_SHOWN = ("__call__", "__getitem__")


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes of the named axes and of the leading axes, as the arguments of a call give them.

    `lead` is None if any leading axes fit: each member of a list, dict or set has its own.
    """

    named: Mapping[str, int]
    lead: tuple[int, ...] | None = None

    def of_members(self) -> Sizes:
        """Returns the sizes for members of a collection, where any leading axes fit."""
        return self if self.lead is None else Sizes(self.named)


@dataclass(frozen=True, slots=True)
class Misfit:
    """A part of a value that does not fit its kind; `place` is Python syntax (`[2]['name']`).

    `missing` and `extra` are names of keys, fields or elements. If both are empty, `value` itself
    is of another kind.
    """

    place: str
    wanted: Kind
    value: Value
    missing: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Kind:
    """The kind of value that an annotation asks for; as text: "a list of ints"."""

    def misfits(self, value: Value, sizes: Sizes, place: str = "") -> Iterator[Misfit]:
        """Yields the parts of a value that are not of this kind, or the value as a whole."""
        if not self._fits(value, sizes):
            yield Misfit(place, self, value)

    def converted(self, value: Value) -> Any:
        """Returns a value of this kind, or the description that crossed for it, for tests."""
        return value

    def _fits(self, value: Value, sizes: Sizes) -> bool:
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class TensorType(Kind):
    """A jaxtyping annotation: the category of its dtype and its axes, as written.

    An axis is a name, a number, a product (`heads*d_head`), or `...` for any axes, mostly leading.
    `is_array` marks a numpy array. `any_shape` marks an annotation that says nothing about axes.
    """

    category: str
    axes: tuple[str, ...]
    is_array: bool = False
    any_shape: bool = False

    def shape(self, sizes: Sizes) -> tuple[int, ...] | None:
        """Returns the shape for known sizes of the axes; None if a size is not known."""
        if self.any_shape:
            return None
        shape: list[int] = []
        for axis in self.axes:
            if is_lead(axis):
                if sizes.lead is None:
                    return None
                shape += sizes.lead
                continue
            factors = [_size(factor, sizes.named) for factor in axis.split("*")]
            if None in factors:
                return None
            shape.append(math.prod(factor for factor in factors if factor is not None))
        return tuple(shape)

    def _fits(self, value: Value, sizes: Sizes) -> bool:
        kinds = (numpy.ndarray,) if self.is_array else (torch.Tensor, Elsewhere)
        if not isinstance(value, kinds) or self.category not in ("numeric", category_of(value)):
            return False
        return self.shape(sizes) in (None, tuple(value.shape))

    def __str__(self) -> str:
        kind = "numpy array" if self.is_array else "tensor"
        if self.any_shape:
            return f"a {kind}"
        return with_article(f"{self.category} {kind} ({' '.join(self.axes)})")


NUMBERS = TensorType("numeric", ("...",), any_shape=True)
"""A tensor of any dtype and shape."""


@dataclass(frozen=True, slots=True)
class PlainType(Kind):
    """A type of Python or torch; an int also fits float, a bool does not fit int."""

    type: type

    def _fits(self, value: Value, _sizes: Sizes) -> bool:
        if self.type is str and isinstance(value, Local) and value.kind == TEXT_PATH:
            return True
        return type(value) is self.type or (self.type is float and type(value) is int)

    def converted(self, value: Value) -> Any:
        """Returns the value; an int in place of a float becomes one."""
        return float(value) if self.type is float and isinstance(value, int) else value

    def __str__(self) -> str:
        if self.type in (bytes, type(None)):
            return "bytes" if self.type is bytes else "None"
        return with_article(self.type.__name__)


@dataclass(frozen=True, slots=True)
class ListType(Kind):
    """A list of one kind; if only its items count, tuples and handles of the kinds `also` fit."""

    item: Kind
    also: tuple[str, ...] = ()

    def misfits(self, value: Value, sizes: Sizes, place: str = "") -> Iterator[Misfit]:
        """Yields the value if it is not a list, else its elements of another kind."""
        if isinstance(value, Local) and value.kind in self.also:
            return
        if not isinstance(value, list | tuple if self.also else list):
            yield Misfit(place, self, value)
            return
        for number, element in enumerate(value):
            yield from self.item.misfits(element, sizes.of_members(), f"{place}[{number}]")

    def converted(self, value: Value) -> Any:
        """Returns the list, of elements as tests see them."""
        return [self.item.converted(one) for one in value] if isinstance(value, list) else value

    def __str__(self) -> str:
        return f"a list of {plural(self.item)}"


@dataclass(frozen=True, slots=True)
class TupleType(Kind):
    """A tuple with a kind for each value; if `open`, of any number of values of one kind."""

    items: tuple[Kind, ...]
    open: bool = False

    def misfits(self, value: Value, sizes: Sizes, place: str = "") -> Iterator[Misfit]:
        """Yields the value if it is not such a tuple, else its elements of another kind."""
        if not isinstance(value, tuple) or not (self.open or len(value) == len(self.items)):
            yield Misfit(place, self, value)
            return
        items = self.items * len(value) if self.open else self.items
        for number, (item, element) in enumerate(zip(items, value, strict=True)):
            yield from item.misfits(element, sizes, f"{place}[{number}]")

    def converted(self, value: Value) -> Any:
        """Returns the tuple, of elements as tests see them."""
        if not isinstance(value, tuple):
            return value
        items = self.items * len(value) if self.open else self.items
        return tuple(item.converted(one) for item, one in zip(items, value, strict=True))

    def __str__(self) -> str:
        if self.open:
            return f"a tuple of {plural(self.items[0])}"
        return f"a tuple ({', '.join(map(str, self.items))})"


@dataclass(frozen=True, slots=True)
class DictType(Kind):
    """A dict from keys of one kind to values of another."""

    key: Kind
    value: Kind

    def misfits(self, value: Value, sizes: Sizes, place: str = "") -> Iterator[Misfit]:
        """Yields the value if it is not a dict, else its keys and values of another kind."""
        if not isinstance(value, dict):
            yield Misfit(place, self, value)
            return
        sizes = sizes.of_members()
        for key, own in value.items():
            said = in_words(key)
            yield from self.key.misfits(key, sizes, f"the key {said} of {place or 'it'}")
            yield from self.value.misfits(own, sizes, f"{place}[{said}]")

    def converted(self, value: Value) -> Any:
        """Returns the dict, of keys and values as tests see them."""
        if not isinstance(value, dict):
            return value
        return {self.key.converted(key): self.value.converted(own) for key, own in value.items()}

    def __str__(self) -> str:
        return f"a dict from {plural(self.key)} to {plural(self.value)}"


@dataclass(frozen=True, slots=True)
class SetType(Kind):
    """A set of one kind."""

    item: Kind
    type: type

    def misfits(self, value: Value, sizes: Sizes, place: str = "") -> Iterator[Misfit]:
        """Yields the value if it is not a set, else its elements of another kind."""
        if not isinstance(value, set | frozenset):
            yield Misfit(place, self, value)
            return
        for element in sorted(value, key=in_words):
            name = f"an element of {place or 'it'}"
            yield from self.item.misfits(element, sizes.of_members(), name)

    def converted(self, value: Value) -> Any:
        """Returns the set, of elements as tests see them."""
        if not isinstance(value, set | frozenset):
            return value
        return self.type(map(self.item.converted, value))

    def __str__(self) -> str:
        return f"a set of {plural(self.item)}"


@dataclass(frozen=True, slots=True)
class NamedType(Kind):
    """A named tuple that the assignment defines, with a kind for each field."""

    type: type
    fields: Mapping[str, Kind]

    def misfits(self, value: Value, sizes: Sizes, place: str = "") -> Iterator[Misfit]:
        """Yields the value if it is not such a tuple, else its fields of another kind."""
        if isinstance(value, tuple) and len(value) == len(self.fields):
            value = Named(self.type.__name__, dict(zip(self.fields, value, strict=True)))
        if not isinstance(value, Named):
            yield Misfit(place, self, value)
            return
        missing = tuple(name for name in self.fields if name not in value.fields)
        extra = tuple(name for name in value.fields if name not in self.fields)
        if missing or extra:
            yield Misfit(place, self, value, missing, extra)
            return
        for name, kind in self.fields.items():
            yield from kind.misfits(value.fields[name], sizes, f"{place}.{name}")

    def converted(self, value: Value) -> Any:
        """Returns an instance of the assignment's class."""
        if isinstance(value, Named):
            return self.type(
                **{n: kind.converted(value.fields[n]) for n, kind in self.fields.items()}
            )
        if not isinstance(value, tuple) or len(value) != len(self.fields):
            return value
        kinds = zip(self.fields.values(), value, strict=True)
        return self.type(*(kind.converted(own) for kind, own in kinds))

    def __str__(self) -> str:
        return f"a {self.type.__name__} ({', '.join(self.fields)})"


@dataclass(frozen=True, slots=True)
class OneOf(Kind):
    """Any of several kinds."""

    kinds: tuple[Kind, ...]

    def misfits(self, value: Value, sizes: Sizes, place: str = "") -> Iterator[Misfit]:
        """Yields nothing if the value fits one kind, else the misfits of the nearest kind."""
        found = [list(kind.misfits(value, sizes, place)) for kind in self.kinds]
        if all(found):
            inside = [own for own in found if own[0].place != place]
            yield from inside[0] if inside else [Misfit(place, self, value)]

    def converted(self, value: Value) -> Any:
        """Returns the value as tests see it in the first kind that fits."""
        nothing_known = Sizes({})
        for kind in self.kinds:
            if not any(kind.misfits(value, nothing_known)):
                return kind.converted(value)
        return value

    def __str__(self) -> str:
        return " or ".join(map(str, self.kinds))


@dataclass(frozen=True, slots=True)
class Choice(Kind):
    """One of several literal values."""

    values: tuple[Any, ...]

    def _fits(self, value: Value, _sizes: Sizes) -> bool:
        return any(type(value) is type(own) and value == own for own in self.values)

    def __str__(self) -> str:
        return " or ".join(map(repr, self.values))


@dataclass(frozen=True, slots=True)
class Anything(Kind):
    """The kind of every value that can cross between processes."""

    def _fits(self, _value: Value, _sizes: Sizes) -> bool:
        return True

    def __str__(self) -> str:
        return "anything"


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


def plural(kind: Kind) -> str:
    """Returns a kind in the plural: "ints", "floating-point tensors (seq)", "lists of strs"."""
    words = str(kind)
    if isinstance(kind, OneOf):
        return " or ".join(map(plural, kind.kinds))
    article, _, rest = words.partition(" ")
    if article not in ("a", "an"):
        return words
    marks = [mark for mark in (" of ", " from ", " (") if mark in rest]
    head, mark, tail = rest.partition(min(marks, key=rest.index, default=" of "))
    return f"{head}s{mark}{tail}"


def with_article(noun: str) -> str:
    """Returns a noun with "a" or "an" before it."""
    # The letters of an acronym are spoken one by one: an LSTM.
    vowels = "AEFHILMNORSX" if noun[:2].isupper() else "AEIOUaeiou"
    return f"{'an' if noun[:1] in tuple(vowels) else 'a'} {noun}"


def category_of(value: torch.Tensor | Elsewhere | numpy.ndarray[Any, Any]) -> str:
    """Returns `floating-point`, `boolean`, `integer`, or the name of another dtype."""
    dtype = value.dtype if isinstance(value, Elsewhere) else str(value.dtype)
    dtype = dtype.removeprefix("torch.")
    if dtype == "bool":
        return "boolean"
    if dtype.startswith(("float", "bfloat")):
        return "floating-point"
    return "integer" if dtype.startswith(("int", "uint")) else dtype


def is_lead(axis: str) -> bool:
    """Returns whether an axis stands for any leading axes."""
    return axis.startswith(("...", "*"))


def _size(factor: str, sizes: Mapping[str, int]) -> int | None:
    return int(factor) if factor.isdecimal() else sizes.get(factor)
