"""The adapters' contract, read from the annotations of `adapters.py`: names, axes, dtypes."""

from __future__ import annotations

import inspect
import math
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy
import torch

from grader.wire.frames import Elsewhere, Value

_CATEGORIES = {"bool": "boolean", "float32": "floating-point", "int64": "integer"}
_COUNTED = ("first", "second", "third", "fourth", "fifth", "sixth")


@dataclass(frozen=True, slots=True)
class TensorType:
    """A jaxtyping annotation: the category of its dtype and its axes, as written.

    An axis is a name, a number, a product such as `heads*d_head`, or `...` for any leading axes.
    """

    category: str
    axes: tuple[str, ...]

    def shape(self, sizes: Mapping[str, int], lead: tuple[int, ...]) -> tuple[int, ...] | None:
        """The shape for known sizes of the axes; None if a size is not known."""
        shape: list[int] = []
        for axis in self.axes:
            if is_lead(axis):
                shape += lead
                continue
            factors = [_size(factor, sizes) for factor in axis.split("*")]
            if None in factors:
                return None
            shape.append(math.prod(factor for factor in factors if factor is not None))
        return tuple(shape)

    def __str__(self) -> str:
        return f"a {self.category} tensor ({' '.join(self.axes)})"


@dataclass(frozen=True, slots=True)
class Adapter:
    """One adapter: its parameters in order, and the types of its tensors and of its result."""

    name: str
    parameters: tuple[str, ...]
    tensors: Mapping[str, TensorType]
    result: TensorType | type

    def bind(self, args: tuple[Value, ...], kwargs: Mapping[str, Value]) -> dict[str, Value]:
        """The arguments by name, as an adapter is always called."""
        named = dict(zip(self.parameters, args, strict=False)) | dict(kwargs)
        unknown = set(named) - set(self.parameters)
        if unknown or len(args) > len(self.parameters):
            raise TypeError(f"{self.name} has no parameter for {sorted(unknown) or args[-1]!r}")
        return named

    def expected_shape(self, arguments: Mapping[str, Value]) -> tuple[int, ...] | None:
        """The shape that the result must have; None if the annotations do not tell."""
        if not isinstance(self.result, TensorType):
            return None
        sizes, lead = self.sizes(arguments)
        return self.result.shape(sizes, lead)

    def sizes(self, arguments: Mapping[str, Value]) -> tuple[dict[str, int], tuple[int, ...]]:
        """The size of every named axis in the arguments, and their broadcast leading axes."""
        sizes = {name: value for name, value in arguments.items() if type(value) is int}
        leads: list[tuple[int, ...]] = []
        for name, tensor_type in self.tensors.items():
            value = arguments.get(name)
            if isinstance(value, torch.Tensor):
                own, lead = _sizes(tensor_type, tuple(value.shape))
                sizes |= own
                leads.append(lead)
        # torch's own would load the packages for symbolic sizes first.
        return sizes, numpy.broadcast_shapes(*leads)


def read_contract(adapters: types.ModuleType) -> dict[str, Adapter]:
    """Every `run_*` function of a module of adapters, by name."""
    return {
        name: _adapter(name, function)
        for name, function in vars(adapters).items()
        if name.startswith("run_") and callable(function)
    }


def category_of(value: torch.Tensor | Elsewhere) -> str:
    """`floating-point`, `boolean` or `integer` (or what else the dtype is)."""
    dtype = value.dtype if isinstance(value, Elsewhere) else str(value.dtype)
    dtype = dtype.removeprefix("torch.")
    if dtype == "bool":
        return "boolean"
    if dtype.startswith(("float", "bfloat")):
        return "floating-point"
    return "integer" if dtype.startswith(("int", "uint")) else dtype


def _adapter(name: str, function: Callable[..., Any]) -> Adapter:
    hints = typing.get_type_hints(inspect.unwrap(function))
    parameters = tuple(inspect.signature(function).parameters)
    tensors = {p: t for p in parameters if (t := _tensor_type(hints.get(p))) is not None}
    result = hints.get("return")
    return Adapter(
        name, parameters, tensors, _tensor_type(result) or (result if result in (int,) else object)
    )


def _tensor_type(hint: Any) -> TensorType | None:
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        found = [t for t in map(_tensor_type, typing.get_args(hint)) if t is not None]
        return found[0] if found else None
    if not hasattr(hint, "dim_str"):
        return None
    category = next(
        (kind for dtype, kind in _CATEGORIES.items() if dtype in hint.dtypes), "numeric"
    )
    return TensorType(category, tuple(axis.lstrip("#?") for axis in hint.dim_str.split()))


def _sizes(
    tensor_type: TensorType, shape: tuple[int, ...]
) -> tuple[dict[str, int], tuple[int, ...]]:
    """The sizes of the named axes of a shape that fits, and its leading axes."""
    named = [axis for axis in tensor_type.axes if not is_lead(axis)]
    split = len(shape) - len(named)
    trailing = shape[split:] if split >= 0 else ()
    sizes = {axis: size for axis, size in zip(named, trailing, strict=False) if axis.isidentifier()}
    return sizes, shape[:split] if split > 0 else ()


def is_lead(axis: str) -> bool:
    """Whether it stands for any leading axes."""
    return axis.startswith(("...", "*"))


def _size(factor: str, sizes: Mapping[str, int]) -> int | None:
    return int(factor) if factor.isdecimal() else sizes.get(factor)


def axis_names(wanted: TensorType, rank: int) -> tuple[str, ...]:
    """A name for each axis of a result: those of the annotation, and of leading ones their number.

    >>> axis_names(TensorType("floating-point", ("...", "queries", "d_v")), 4)
    ('the first leading axis', 'the second leading axis', 'queries', 'd_v')
    """
    named = [axis for axis in wanted.axes if not is_lead(axis)]
    leading = rank - len(named)
    if not named:
        return tuple(f"axis {place}" for place in range(rank))
    if leading == 1:
        return ("the leading axis", *named)
    return (*(f"the {counted(place)} leading axis" for place in range(leading)), *named)


def counted(place: int) -> str:
    """`first` for 0, `second` for 1, …"""
    return _COUNTED[place] if place < len(_COUNTED) else f"{place + 1}th"
