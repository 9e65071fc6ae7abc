"""Scripts: the steps that a test takes with objects that stay in the worker.

These are objects that an adapter returned, and objects that a test makes beside a submission:
parameters, modules, optimizers, files. A script is a list of steps; each acts on the result of an
earlier one. Every call carries the whole script, so that a new worker comes to the same state. A
module of `torch.nn` crosses as plain data, from which an equal module is made.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from grader.core.wire.values import Value

# The prefix of the folder in which a script makes files; messages leave it out.
GIVEN = "grader-given-"


class Doing(enum.StrEnum):
    """The kind of a step; all but the last two act on the result of another step."""

    CALL = "call"
    READ = "read"
    WRITE = "write"
    ITERATE = "iterate"
    NEXT = "next"
    MAKE = "make"
    ASK = "ask"


@dataclass(frozen=True, slots=True)
class Step:
    """One step. It acts on the result of step number `on`, counted from 0.

    `name` is a method or an attribute; without one, the result itself is called or read. `NEXT`
    runs `times` times and gives the last item. `MAKE` is the engine's own: it makes or inspects
    an object beside the submission (`worker/marshalling.py`). `ASK` calls the adapter called
    `name`. Arguments may hold a `Local`.
    """

    on: int
    doing: Doing
    name: str = ""
    positional: tuple[Value, ...] = ()
    keywords: Mapping[str, Value] = field(default_factory=dict)
    times: int = 1


def steps_as_value(steps: Sequence[Step]) -> Value:
    """Returns steps as a value, which crosses with their arguments."""
    return [
        [step.on, step.doing, step.name, step.positional, dict(step.keywords), step.times]
        for step in steps
    ]


def steps_in(value: Any) -> tuple[Step, ...]:
    """Returns the steps that `steps_as_value` made a value of."""
    return tuple(Step(on, Doing(doing), *others) for on, doing, *others in value)


_HELD = ("_parameters", "_buffers", "_modules")
_UNSAVED = "_non_persistent_buffers_set"
_PLAIN = (bool, int, float, str, type(None), torch.dtype)


class NotOfTorch(Exception):
    """A module that is more than classes of `torch.nn`, numbers and texts."""


def outline_of(module: torch.nn.Module) -> Value:
    """Returns a module as plain data.

    Raises:
        NotOfTorch: if a module in it is not of `torch.nn`, or holds more than plain data.
    """
    tensors: dict[int, torch.Tensor] = {}
    laid_out = _outline(module, type(module).__name__, tensors)
    return {
        "outline": laid_out,
        "tensors": [one.detach().clone() for one in tensors.values()],
        "wanting": [one.requires_grad for one in tensors.values()],
    }


def module_of(outline: Mapping[str, Any]) -> torch.nn.Module:
    """Returns a module made from its outline; parameters that were shared stay shared."""
    tensors = [one.clone() for one in outline["tensors"]]
    made: dict[tuple[int, bool], torch.Tensor] = {}

    def tensor(place: int | None, is_parameter: bool) -> torch.Tensor | None:
        if place is None:
            return None
        if (place, is_parameter) not in made:
            one = tensors[place]
            made[place, is_parameter] = (
                torch.nn.Parameter(one, outline["wanting"][place]) if is_parameter else one
            )
        return made[place, is_parameter]

    def build(own: Mapping[str, Any]) -> torch.nn.Module:
        kind = getattr(torch.nn, own["class"])
        module: torch.nn.Module = kind.__new__(kind)
        torch.nn.Module.__init__(module)
        for name, place in own["_parameters"].items():
            module.register_parameter(name, tensor(place, True))  # type: ignore[arg-type]
        for name, place in own["_buffers"].items():
            module.register_buffer(name, tensor(place, False), name not in own[_UNSAVED])
        for name, inner in own["_modules"].items():
            module.add_module(name, None if inner is None else build(inner))
        vars(module).update(own["attributes"])
        return module

    return build(outline["outline"])


def _outline(
    module: torch.nn.Module, name: str, tensors: dict[int, torch.Tensor]
) -> dict[str, Any]:
    kind = type(module)
    if getattr(torch.nn, kind.__name__, None) is not kind:
        raise NotOfTorch(f"{name} is of the class {kind.__qualname__}, which is not torch.nn's own")
    own = vars(module)
    usual = vars(torch.nn.Module())
    strange = [
        key
        for key, value in own.items()
        if key not in (*_HELD, _UNSAVED)
        and (key not in usual or value != usual[key])
        and not _is_plain(value)
    ]
    if strange:
        raise NotOfTorch(f"{name} holds {strange[0]}, which is not plain data")
    return {
        "class": kind.__name__,
        "_parameters": {key: _place(one, tensors) for key, one in own["_parameters"].items()},
        "_buffers": {key: _place(one, tensors) for key, one in own["_buffers"].items()},
        "_modules": {
            key: None if one is None else _outline(one, f"{name}.{key}", tensors)
            for key, one in own["_modules"].items()
        },
        _UNSAVED: sorted(own[_UNSAVED]),
        "attributes": {
            key: value
            for key, value in own.items()
            if key not in (*_HELD, _UNSAVED) and (key not in usual or key == "training")
        },
    }


def _place(tensor: torch.Tensor | None, tensors: dict[int, torch.Tensor]) -> int | None:
    """Returns a tensor's place among all tensors; a shared one has one place."""
    if tensor is None:
        return None
    tensors.setdefault(id(tensor), tensor)
    return list(tensors).index(id(tensor))


def _is_plain(value: object) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    return type(value) in _PLAIN
