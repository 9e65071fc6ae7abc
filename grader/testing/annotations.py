"""Reads annotations of `adapters.py`: which kind of value each one asks for."""

from __future__ import annotations

import collections.abc
import inspect
import types
import typing
from collections.abc import Callable
from typing import Any

import numpy
import torch

from grader.testing.kinds import (
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
from grader.testing.object_kinds import (
    ClassType,
    IteratorType,
    ObjectType,
    ParameterType,
    Signature,
)

_PLAIN = (bool, int, float, str, bytes, type(None), torch.dtype, torch.device)
_CATEGORIES = {"bool": "boolean", "float32": "floating-point", "int64": "integer"}
_LISTS = (list, collections.abc.Sequence, collections.abc.Iterable, collections.abc.Collection)
_DICTS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)
_SETS = (set, frozenset, collections.abc.Set)
_ITERATORS = (collections.abc.Iterator, collections.abc.Generator)
_SPECIAL = ("__init__", "__call__", "__len__")
_INSTEAD = (
    "write numbers, str, bytes, None, tensors, numpy arrays, or lists, tuples, dicts, sets and "
    "NamedTuples of them, or for what stays with the submission a typing.Protocol that declares "
    "its methods"
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
    if origin in _ITERATORS:
        return IteratorType(_item(arguments))
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
    return ObjectType(declared.__name__, methods, {n: kind_of(hint) for n, hint in hints.items()})


def signature_of(function: Callable[..., Any], bound: bool = False) -> Signature:
    """The kinds of what a function takes, without its first parameter if `bound`, and returns.

    Raises:
        CannotCross: if one of them cannot cross; the text says which.
    """
    hints = typing.get_type_hints(inspect.unwrap(function))
    parameters = list(inspect.signature(function).parameters)[bound:]
    kinds = {name: _kind_at(name, hints.get(name, Any)) for name in parameters}
    return Signature(kinds, _kind_at("its result", hints.get("return", Any)))


def _kind_at(what: str, annotation: Any) -> Kind:
    try:
        return kind_of(annotation)
    except CannotCross as problem:
        raise CannotCross(f"{what}: {problem}") from None


def _refused(annotation: Any) -> CannotCross:
    name = getattr(annotation, "__qualname__", None) or str(annotation)
    return CannotCross(f"{name} cannot cross to a submission: {_INSTEAD}")
