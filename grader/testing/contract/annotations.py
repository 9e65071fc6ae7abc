"""Reads annotations of `adapters.py`: which kind of value each one asks for."""

from __future__ import annotations

import collections.abc
import inspect
import io
import itertools
import os
import pathlib
import types
import typing
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import torch

from grader.testing.contract.kinds import (
    Anything,
    Choice,
    DictType,
    Kind,
    ListType,
    NamedType,
    OneOf,
    PlainType,
    SetType,
    TensorType,
    TupleType,
)
from grader.testing.contract.object_kinds import (
    MODULE,
    OBJECT,
    OPTIMIZER,
    PARAMETERS,
    PATH,
    STREAM,
    TEXT,
    ClassType,
    GivenType,
    IterableType,
    IteratorType,
    ObjectType,
    ParameterType,
    Signature,
)

_PLAIN = (bool, int, float, str, bytes, type(None), torch.dtype, torch.device)
_CATEGORIES = {"bool": "boolean", "float32": "floating-point", "int64": "integer"}
_LISTS = (list, collections.abc.Sequence, collections.abc.Iterable, collections.abc.Collection)
_GIVEN: dict[Any, Kind] = {
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
_SPECIAL = ("__init__", "__call__", "__len__")
_INSTEAD = (
    "write numbers, str, bytes, None, tensors, numpy arrays, or lists, tuples, dicts, sets and "
    "NamedTuples of them, for what a test makes beside a submission torch.nn.Parameter, "
    "torch.nn.Module, torch.optim.Optimizer, a path or an open file, and for what stays with the "
    "submission a typing.Protocol that declares its methods"
)


class CannotCross(Exception):
    """An annotation asks for what no submission can be handed, or can answer with."""


def kind_of(annotation: Any) -> Kind:
    """The kind of value that an annotation asks for.

    Raises:
        CannotCross: if there is none; the text says what to write instead.
    """
    if annotation in (Any, object):
        return Anything()
    if annotation is None:
        return PlainType(type(None))
    if isinstance(annotation, collections.abc.Hashable) and annotation in _GIVEN:
        return _GIVEN[annotation]
    if hasattr(annotation, "dim_str"):
        return _tensor(annotation)
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        return _one_of(arguments)
    if origin is typing.Annotated:
        return kind_of(arguments[0])
    if origin is typing.Literal:
        return Choice(arguments)
    if origin is not None:
        return _several(annotation, origin, arguments)
    return _single(annotation)


def _single(annotation: Any) -> Kind:
    if annotation in _PLAIN:
        return PlainType(annotation)
    if annotation is torch.nn.Parameter:
        return ParameterType()
    if getattr(annotation, "_is_protocol", False):
        return _object(annotation)
    if annotation is torch.Tensor:
        return TensorType("numeric", ("...",))
    if annotation is numpy.ndarray:
        return TensorType("numeric", ("...",), is_array=True)
    if annotation in (*_LISTS, *_DICTS, *_SETS, tuple):
        return _several(annotation, annotation, ())
    if isinstance(annotation, type) and issubclass(annotation, tuple):
        fields = typing.get_type_hints(annotation)
        if hasattr(annotation, "_fields") and set(annotation._fields) == set(fields):
            return NamedType(
                annotation, {name: kind_of(fields[name]) for name in annotation._fields}
            )
    raise _refused(annotation)


def _several(annotation: Any, origin: Any, arguments: tuple[Any, ...]) -> Kind:
    if origin is type:
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
        return _gone_through(ListType(_item(arguments)))
    if origin is numpy.ndarray:
        return TensorType("numeric", ("...",), is_array=True)
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


def _gone_through(several: ListType) -> Kind:
    """A list, or what else gives such items: a text file lines, a module parameters."""
    if several.item == PlainType(str):
        return IterableType(several, (TEXT,))
    if several.item == ParameterType():
        return IterableType(several, (PARAMETERS,))
    return several


def _item(arguments: tuple[Any, ...]) -> Kind:
    return kind_of(arguments[0]) if arguments else Anything()


def _one_of(arguments: tuple[Any, ...]) -> Kind:
    return OneOf(tuple(map(kind_of, arguments)))


def _tensor(annotation: Any) -> TensorType:
    category = next(
        (kind for dtype, kind in _CATEGORIES.items() if dtype in annotation.dtypes), "numeric"
    )
    if set(_CATEGORIES) <= set(annotation.dtypes):
        category = "numeric"
    axes = tuple(axis.lstrip("#?") for axis in annotation.dim_str.split())
    return TensorType(category, axes, annotation.array_type is numpy.ndarray)


def _object(declared: type) -> ObjectType:
    methods = {
        name: signature_of(function, bound=True)
        for name, function in vars(declared).items()
        if inspect.isfunction(function) and (name[0] != "_" or name in _SPECIAL)
    }
    if "_no_init" in vars(declared).get("__init__", _object).__name__:
        del methods["__init__"]
    hints = typing.get_type_hints(declared)
    return ObjectType(
        declared.__name__, methods, {n: _returned(n, hint) for n, hint in hints.items()}
    )


def signature_of(function: Callable[..., Any], bound: bool = False) -> Signature:
    """The kinds of what a function takes, without its first parameter if `bound`, and returns.

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
    """The kind of what an adapter or a method returns, or an attribute holds."""
    kind = _kind_at(what, annotation)
    given = next((one for one in _kinds_in(kind) if isinstance(one, GivenType)), None)
    if given is not None:
        raise CannotCross(f"{what}: {given} can be given, and not come back: {_INSTEAD}")
    return kind


def _kinds_in(kind: Kind) -> Iterator[Kind]:
    """A kind, and those that it is made of."""
    yield kind
    if isinstance(kind, ListType | SetType | IteratorType):
        yield from _kinds_in(kind.item)
    elif isinstance(kind, DictType):
        yield from _kinds_in(kind.value)
    elif isinstance(kind, TupleType):
        yield from itertools.chain(*map(_kinds_in, kind.items))
    elif isinstance(kind, OneOf):
        yield from itertools.chain(*map(_kinds_in, kind.kinds))
    elif isinstance(kind, NamedType):
        yield from itertools.chain(*map(_kinds_in, kind.fields.values()))


def _kind_at(what: str, annotation: Any) -> Kind:
    try:
        return kind_of(annotation)
    except CannotCross as problem:
        raise CannotCross(f"{what}: {problem}") from None


def _refused(annotation: Any) -> CannotCross:
    return CannotCross(f"{_said(annotation)} cannot cross to a submission: {_INSTEAD}")


def _said(annotation: Any) -> str:
    return getattr(annotation, "__qualname__", None) or str(annotation)
