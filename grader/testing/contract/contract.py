"""The adapters' contract, read from the annotations of `adapters.py`: names, axes, dtypes."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy
import torch

from grader.core.adapter_names import is_adapter
from grader.core.assignment import BadAssignment
from grader.core.wire.values import Value, in_words
from grader.testing.contract.annotations import CannotCross, signature_of
from grader.testing.contract.kinds import Kind, OneOf, Sizes, TensorType, is_lead

_COUNTED = ("first", "second", "third", "fourth", "fifth", "sixth")


@dataclass(frozen=True, slots=True)
class Adapter:
    """One adapter: the kinds of its parameters, in order, and of its result.

    What an iterator gives `is_item`: it is read, and takes nothing.
    """

    name: str
    kinds: Mapping[str, Kind]
    result: Kind
    is_item: bool = False

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the parameters."""
        return tuple(self.kinds)

    @property
    def tensors(self) -> Mapping[str, TensorType]:
        """Of the parameters that take a tensor or an array, or may, of which type it is."""
        found = {name: _tensor_in(kind) for name, kind in self.kinds.items()}
        return {name: kind for name, kind in found.items() if kind is not None}

    def bind(self, args: tuple[Value, ...], kwargs: Mapping[str, Value]) -> dict[str, Value]:
        """The arguments by name, as an adapter is always called.

        Raises:
            TypeError: if they are not those that the adapter takes.
        """
        named = dict(zip(self.parameters, args, strict=False)) | dict(kwargs)
        unknown = set(named) - set(self.parameters)
        if unknown or len(args) > len(self.parameters):
            raise TypeError(f"{self.name} has no parameter for {sorted(unknown) or args[-1]!r}")
        for name, value in named.items():
            misfit = next(self.kinds[name].misfits(value, Sizes({})), None)
            if misfit is not None:
                raise TypeError(
                    f"{self.name}: {name}{misfit.place} must be {misfit.wanted}, not "
                    f"{in_words(misfit.value)}"
                )
        return named

    def expected_shape(self, arguments: Mapping[str, Value]) -> tuple[int, ...] | None:
        """The shape that the result must have; None if the annotations do not tell."""
        if not isinstance(self.result, TensorType):
            return None
        return self.result.shape(self.sizes(arguments))

    def sizes(self, arguments: Mapping[str, Value]) -> Sizes:
        """The size of every named axis in the arguments, and their broadcast leading axes."""
        sizes = {name: value for name, value in arguments.items() if type(value) is int}
        leads: list[tuple[int, ...]] = []
        for name, tensor_type in self.tensors.items():
            value = arguments.get(name)
            if isinstance(value, torch.Tensor | numpy.ndarray):
                own, lead = _sizes(tensor_type, tuple(value.shape))
                sizes |= own
                leads.append(lead)
        # torch's own would load the packages for symbolic sizes first.
        return Sizes(sizes, numpy.broadcast_shapes(*leads) if leads else None)


def read_contract(adapters: types.ModuleType) -> dict[str, Adapter]:
    """Every adapter of a module, by name.

    Raises:
        BadAssignment: if one of them takes or returns what cannot cross to a submission.
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
    return Adapter(name, signature.kinds, signature.result)


def _tensor_in(kind: Kind) -> TensorType | None:
    if isinstance(kind, OneOf):
        return next(filter(None, map(_tensor_in, kind.kinds)), None)
    return kind if isinstance(kind, TensorType) else None


def _sizes(
    tensor_type: TensorType, shape: tuple[int, ...]
) -> tuple[dict[str, int], tuple[int, ...]]:
    """The sizes of the named axes of a shape that fits, and its leading axes."""
    named = [axis for axis in tensor_type.axes if not is_lead(axis)]
    split = len(shape) - len(named)
    trailing = shape[split:] if split >= 0 else ()
    sizes = {axis: size for axis, size in zip(named, trailing, strict=False) if axis.isidentifier()}
    return sizes, shape[:split] if split > 0 else ()


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
