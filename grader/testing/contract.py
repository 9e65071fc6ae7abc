"""The adapters' contract, read from the annotations of `adapters.py`."""

from __future__ import annotations

import collections.abc
import dataclasses
import inspect
import io
import os
import pathlib
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy
import torch

from grader.core.assignment import BadAssignment
from grader.core.names import is_adapter
from grader.core.text import ordinal
from grader.core.wire.values import Value, parts
from grader.core.wire.values_in_words import in_words
from grader.testing.kinds import (
    MODULE,
    NUMBERS,
    OBJECT,
    OPTIMIZER,
    PARAMETERS,
    PATH,
    STREAM,
    TEXT,
    Anything,
    Choice,
    ClassType,
    DictType,
    GivenType,
    IteratorType,
    Kind,
    ListType,
    NamedType,
    ObjectType,
    OneOf,
    ParameterType,
    PlainType,
    SetType,
    Signature,
    Sizes,
    TensorType,
    TupleType,
    is_lead,
)

_PLAIN = (bool, int, float, str, bytes, type(None), torch.dtype, torch.device)
_CATEGORIES = {"bool": "boolean", "float32": "floating-point", "int64": "integer"}
_LISTS = (list, collections.abc.Sequence, collections.abc.Iterable, collections.abc.Collection)
_KINDS: dict[Any, Kind] = {
    torch.Tensor: NUMBERS,
    numpy.ndarray: TensorType("numeric", ("...",), is_array=True, any_shape=True),
    torch.nn.Parameter: ParameterType(),
    torch.nn.Module: GivenType(MODULE, (OBJECT,)),
    torch.optim.Optimizer: GivenType(OPTIMIZER, (OBJECT,)),
    **dict.fromkeys((pathlib.Path, pathlib.PurePath, os.PathLike), GivenType(PATH)),
    **dict.fromkeys(
        (typing.BinaryIO, typing.IO[bytes], io.BytesIO, io.BufferedReader, io.BufferedWriter),
        GivenType(STREAM),
    ),
    **dict.fromkeys((typing.TextIO, typing.IO[str], io.TextIOWrapper), GivenType(TEXT)),
    **dict.fromkeys((typing.IO, typing.IO[Any]), GivenType(STREAM, (TEXT,))),
}
_DICTS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)
_SETS = (set, frozenset, collections.abc.Set)
_ITERATORS = (collections.abc.Iterator, collections.abc.Generator)
_OF_PROTOCOLS = ("typing", "typing_extensions")
_SPECIAL = ("__init__", "__call__", "__len__", "__getitem__")
_INSTEAD = (
    "write numbers, str, bytes, None, tensors, numpy arrays, or lists, tuples, dicts, sets and "
    "NamedTuples of them, or Any for each of these. A test may also make torch.nn.Parameter, "
    "torch.nn.Module, torch.optim.Optimizer, a path or an open file. An object that stays with the "
    "submission is a typing.Protocol that declares its methods"
)
_USED = "Let a run_ adapter use such objects, and return numbers, lists or an Iterator of these"
# Nothing inside a value is handed over as a handle.
_STAYING = (ObjectType, ClassType, IteratorType)


class CannotCross(Exception):
    """An annotation asks for a value that cannot cross to or from a submission."""


def kind_of(annotation: Any) -> Kind:
    """Returns the kind of value that an annotation asks for.

    Raises:
        CannotCross: if there is no such kind; the text says what to write instead.
    """
    if annotation in (Any, object):
        return Anything()
    if annotation is None:
        return PlainType(type(None))
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    # The values of these two may have no hash.
    if origin is typing.Annotated:
        return kind_of(arguments[0])
    if origin is typing.Literal:
        return Choice(arguments)
    if isinstance(annotation, collections.abc.Hashable) and annotation in _KINDS:
        return _KINDS[annotation]
    if hasattr(annotation, "dim_str"):
        return _tensor(annotation)
    if origin in (typing.Union, types.UnionType):
        return OneOf(tuple(map(kind_of, arguments)))
    if origin is not None:
        return _several(annotation, origin, arguments)
    return _single(annotation)


def _single(annotation: Any) -> Kind:
    if annotation in _PLAIN:
        return PlainType(annotation)
    if getattr(annotation, "_is_protocol", False):
        return _object(annotation)
    if annotation in (*_LISTS, *_DICTS, *_SETS, *_ITERATORS, tuple):
        return _several(annotation, annotation, ())
    if isinstance(annotation, type) and issubclass(annotation, tuple):
        fields = typing.get_type_hints(annotation)
        if hasattr(annotation, "_fields") and set(annotation._fields) == set(fields):
            return NamedType(
                annotation, {name: kind_of(fields[name]) for name in annotation._fields}
            )
    raise _refused(annotation)


def _several(annotation: Any, origin: Any, arguments: tuple[Any, ...]) -> Kind:
    if origin is type and arguments:
        made = kind_of(arguments[0])
        if isinstance(made, ObjectType):
            return ClassType(made)
        raise CannotCross(
            f"type[{_said(arguments[0])}] cannot cross to a submission: declare what its objects "
            "can do in a typing.Protocol in adapters.py, and write type[…] of that"
        )
    if origin is os.PathLike:
        return GivenType(PATH)
    if origin in _ITERATORS:
        return IteratorType(_item(arguments))
    if origin is collections.abc.Iterable:
        return _iterable(_item(arguments))
    if origin is numpy.ndarray:
        return _KINDS[origin]
    if origin in _LISTS:
        return ListType(_item(arguments))
    if origin in _SETS:
        return SetType(_item(arguments), frozenset if origin is frozenset else set)
    if origin in _DICTS:
        key, value = arguments or (Any, Any)
        return DictType(kind_of(key), kind_of(value))
    if origin is tuple:
        if not arguments or arguments[-1] is Ellipsis:
            return TupleType((_item(arguments[:1]),), open=True)
        return TupleType(tuple(map(kind_of, arguments)))
    raise _refused(annotation)


def _iterable(item: Kind) -> Kind:
    """Returns a list that may also be a text file's lines or a module's parameters."""
    lines = (TEXT,) if item in (PlainType(str), Anything()) else ()
    return ListType(item, lines + (PARAMETERS,) * (item in (ParameterType(), Anything())))


def _item(arguments: tuple[Any, ...]) -> Kind:
    return kind_of(arguments[0]) if arguments else Anything()


def _tensor(annotation: Any) -> TensorType:
    # `Shaped` takes every dtype, and has no list of them.
    dtypes = annotation.dtypes if isinstance(annotation.dtypes, list | tuple) else ()
    found = [category for dtype, category in _CATEGORIES.items() if dtype in dtypes]
    category = found[0] if len(found) == 1 else "numeric"
    axes = tuple(axis.lstrip("#?") for axis in annotation.dim_str.split())
    return TensorType(category, axes, annotation.array_type is numpy.ndarray)


def _object(declared: type) -> ObjectType:
    functions = {
        name: function
        for base in reversed(declared.__mro__)
        if getattr(base, "_is_protocol", False)
        for name, function in vars(base).items()
        # Python gives methods such as `__init__` to a Protocol that has none of its own.
        if inspect.isfunction(function) and function.__module__ not in _OF_PROTOCOLS
    }
    for name in functions:
        if name.startswith("__") and name not in _SPECIAL:
            raise CannotCross(
                f"{name} of {declared.__name__} cannot be called by a test: among Python's own "
                f"methods, only {', '.join(_SPECIAL)} can. {_USED}"
            )
    methods = {
        name: signature_of(function, bound=True)
        for name, function in functions.items()
        if name[0] != "_" or name in _SPECIAL
    }
    hints = typing.get_type_hints(declared)
    return ObjectType(
        declared.__name__, methods, {n: _returned(n, hint) for n, hint in hints.items()}
    )


def signature_of(function: Callable[..., Any], bound: bool = False) -> Signature:
    """Returns the kinds of a function's parameters (if `bound`, without the first) and result.

    Raises:
        CannotCross: if one of them cannot cross; the text says which.
    """
    hints = typing.get_type_hints(inspect.unwrap(function))
    parameters = list(inspect.signature(function).parameters.values())[bound:]
    kinds = {
        one.name: _kind_at(one.name, hints.get(one.name, Any))
        for one in parameters
        if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
    }
    return Signature(kinds, _returned("its result", hints.get("return", Any)))


def _returned(what: str, annotation: Any) -> Kind:
    """Returns the kind of a result or an attribute; refuses kinds that only tests can make."""
    kind = _kind_at(what, annotation)
    given = next((one for one in _kinds_in(kind) if isinstance(one, GivenType)), None)
    if given is not None:
        raise CannotCross(f"{what}: {given} can be given, and not come back: {_INSTEAD}")
    # A union may be None, which a test can see.
    inside = [] if isinstance(kind, OneOf) else [*_kinds_in(kind)][1:]
    items = (kind.item,) if isinstance(kind, IteratorType) else ()
    for one in inside:
        if isinstance(one, _STAYING) or (one in items and isinstance(one, ParameterType)):
            raise CannotCross(
                f"{what}: {one} stays with the submission, and comes back only by itself, not "
                f"inside {kind}. {_USED}"
            )
    return kind


def _kinds_in(kind: Kind) -> Iterator[Kind]:
    yield kind
    if not isinstance(kind, ObjectType | ClassType):
        fields = [getattr(kind, field.name) for field in dataclasses.fields(kind)]
        for inner in parts(fields):
            if isinstance(inner, Kind):
                yield from _kinds_in(inner)


def _kind_at(what: str, annotation: Any) -> Kind:
    try:
        return kind_of(annotation)
    except CannotCross as problem:
        raise CannotCross(f"{what}: {problem}") from None


def _refused(annotation: Any) -> CannotCross:
    return CannotCross(f"{_said(annotation)} cannot cross to a submission: {_INSTEAD}")


def _said(annotation: Any) -> str:
    return getattr(annotation, "__qualname__", None) or str(annotation)


@dataclass(frozen=True, slots=True)
class Adapter:
    """One adapter: the kinds of its parameters, in order, and of its result.

    `is_item` marks an iterator's item, which is read and takes no arguments.
    """

    name: str
    kinds: Mapping[str, Kind]
    result: Kind
    is_item: bool = False

    @property
    def parameters(self) -> tuple[str, ...]:
        """Returns the names of the parameters."""
        return tuple(self.kinds)

    @property
    def tensors(self) -> Mapping[str, TensorType]:
        """Returns the type of each parameter that takes, or may take, a tensor or an array."""
        found = {name: _tensor_in(kind) for name, kind in self.kinds.items()}
        return {name: kind for name, kind in found.items() if kind is not None}

    def bind(self, args: tuple[Value, ...], kwargs: Mapping[str, Value]) -> dict[str, Value]:
        """Returns the arguments by name: adapters are always called with keywords.

        Raises:
            TypeError: if the adapter does not take these arguments.
        """
        named = dict(zip(self.parameters, args, strict=False)) | dict(kwargs)
        if twice := kwargs.keys() & {*self.parameters[: len(args)]}:
            raise TypeError(f"{self.name} got {sorted(twice)} by position and by name")
        unknown = set(named) - set(self.parameters)
        if unknown or len(args) > len(self.parameters):
            raise TypeError(f"{self.name} has no parameter for {sorted(unknown) or args[-1]!r}")
        for name, value in named.items():
            misfit = next(self.kinds[name].misfits(value, Sizes({})), None)
            if misfit is not None:
                said = f"must be {misfit.wanted}, not {in_words(misfit.value)}"
                raise TypeError(f"{self.name}: {name}{misfit.place} {said}")
        return named

    def expected_shape(self, arguments: Mapping[str, Value]) -> tuple[int, ...] | None:
        """Returns the shape that the result must have; None if the annotations do not fix it."""
        if not isinstance(self.result, TensorType):
            return None
        return self.result.shape(self.sizes(arguments))

    def sizes(self, arguments: Mapping[str, Value]) -> Sizes:
        """Returns the sizes of the arguments' named axes, and their broadcast leading axes."""
        sizes: dict[str, int] = {}
        leads: list[tuple[int, ...]] = []
        for name, tensor_type in self.tensors.items():
            value = arguments.get(name)
            if not tensor_type.any_shape and isinstance(value, torch.Tensor | numpy.ndarray):
                own, lead = _sizes(tensor_type, tuple(value.shape))
                # Sizes of one axis differ only where it broadcasts (`#n`): one of them is 1.
                sizes |= {axis: size for axis, size in own.items() if sizes.get(axis, 1) == 1}
                leads.append(lead)
        whole = {name: value for name, value in arguments.items() if type(value) is int}
        # `torch.broadcast_shapes` would first load the packages for symbolic sizes.
        return Sizes(whole | sizes, numpy.broadcast_shapes(*leads) if leads else None)


def read_contract(adapters: types.ModuleType) -> dict[str, Adapter]:
    """Returns every adapter of a module, by name.

    Raises:
        BadAssignment: if an adapter takes or returns a value that cannot cross to a submission.
    """
    return {
        name: _adapter(name, function)
        for name, function in vars(adapters).items()
        if is_adapter(name) and callable(function)
    }


def _adapter(name: str, function: Callable[..., Any]) -> Adapter:
    try:
        signature = signature_of(function)
    except CannotCross as problem:
        raise BadAssignment(f"adapters.py, {name}, {problem}") from None
    except RecursionError:
        said = f"takes or returns a Protocol that mentions itself. {_USED}"
        raise BadAssignment(f"adapters.py, {name}, {said}") from None
    return Adapter(name, signature.kinds, signature.result)


def _tensor_in(kind: Kind) -> TensorType | None:
    if isinstance(kind, OneOf):
        return next(filter(None, map(_tensor_in, kind.kinds)), None)
    return kind if isinstance(kind, TensorType) else None


def _sizes(
    tensor_type: TensorType, shape: tuple[int, ...]
) -> tuple[dict[str, int], tuple[int, ...]]:
    """Returns the sizes of a fitting shape's named axes, and of its leading axes."""
    before, after = _around_lead(tensor_type)
    end = len(shape) - len(after)
    if end < len(before):
        return {}, ()
    pairs = (*zip(before, shape, strict=False), *zip(after, shape[end:], strict=True))
    # An axis of jaxtyping that begins with an underscore may have any size.
    sizes = {axis: size for axis, size in pairs if axis.isidentifier() and axis[0] != "_"}
    return sizes, shape[len(before) : end]


def _around_lead(tensor_type: TensorType) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Returns the axes before any leading axes, which are mostly none, and those after."""
    axes = tensor_type.axes
    place = next((place for place, axis in enumerate(axes) if is_lead(axis)), -1)
    return axes[: max(place, 0)], axes[place + 1 :]


def axis_names(wanted: Kind | None, rank: int) -> tuple[str, ...]:
    """Returns names for a result's axes: the annotation's, if any, and numbers for leading ones.

    >>> axis_names(TensorType("floating-point", ("...", "queries", "d_v")), 4)
    ('the first leading axis', 'the second leading axis', 'queries', 'd_v')
    """
    before, after = _around_lead(wanted) if isinstance(wanted, TensorType) else ((), ())
    leading = rank - len(before) - len(after)
    if not (before or after):
        return numbered_axes(rank)
    if leading == 1:
        return (*before, "the leading axis", *after)
    return (*before, *(f"the {ordinal(place)} leading axis" for place in range(leading)), *after)


def numbered_axes(rank: int) -> tuple[str, ...]:
    """Returns names for axes of which only the numbers are known."""
    return tuple(f"axis {place}" for place in range(rank))
