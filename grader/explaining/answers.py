"""Says what came back instead of a value of the type and shape that the contract asks for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import torch

from grader.explaining.exceptions.account import call_in_words
from grader.explaining.shapes import wrong_shape
from grader.testing.answers import single_number
from grader.testing.contract import Adapter, TensorType, category_of, counted
from grader.wire.calls import Call
from grader.wire.frames import Elsewhere, Foreign, Value, tensor_in_words

_LONGEST = 40


def refusal_in_words(adapter: Adapter, value: Value, call: Call) -> str:
    """What a value that the contract refuses is instead; a line each."""
    wanted = adapter.result
    if isinstance(wanted, TensorType):
        complaint = _complaint(adapter, wanted, value, call.arguments)
        return "\n".join([*complaint, f"The test called {call_in_words(call)}."])
    value = single_number(value)
    said = f"{adapter.name} must return an int, not {_described(value)}"
    return "\n".join([said, *_advice(value)])


def _complaint(
    adapter: Adapter, wanted: TensorType, value: Value, arguments: Mapping[str, Value]
) -> list[str]:
    """What is wrong with a value that must be a tensor."""
    shape = adapter.expected_shape(arguments)
    if not isinstance(value, torch.Tensor | Elsewhere):
        said = f"{adapter.name} must return {wanted}, not {_described(value)}"
        fits = _fitting(value, wanted, shape) if isinstance(value, Foreign) else None
        return [said, fits] if fits else [said, *_advice(value)]
    if category_of(value) != wanted.category or shape is None:
        dtype = str(value.dtype).removeprefix("torch.")
        said = f"{adapter.name} must return {wanted}, not one of dtype {dtype}"
        return [said, *_of_another_dtype(wanted, value)]
    return wrong_shape(adapter, wanted, arguments, shape, tuple(value.shape))


def _described(value: Value) -> str:
    if isinstance(value, Foreign):
        return value.description
    if isinstance(value, torch.Tensor | Elsewhere):
        return f"a tensor of shape {list(value.shape)}"
    if value is None:
        return "None"
    return f"the {type(value).__name__} {str(value)[:_LONGEST]}"


def _fitting(value: Foreign, wanted: TensorType, shape: tuple[int, ...] | None) -> str | None:
    """Which element of a tuple would have been right, if one would."""
    fitting = [
        place
        for place, element in enumerate(value.elements)
        if element is not None
        and category_of(element) == wanted.category
        and element.shape == shape
    ]
    if len(fitting) != 1:
        return None
    element = value.elements[fitting[0]]
    assert element is not None
    words = tensor_in_words(element.dtype, element.shape)
    return f"Its {counted(fitting[0])} element, {words}, fits: return that one alone."


def _advice(value: Value) -> Iterator[str]:
    words = value.description if isinstance(value, Foreign) else ""
    if value is None:
        yield "Is there a return at its end, on every way through it?"
    elif words.startswith("a numpy array"):
        yield "Stay with torch throughout: numpy ends the gradient."
    elif words.startswith("a module"):
        yield "Was the module made, and not called?"
    elif words.startswith("a function"):
        yield "Was the function not called?"
    elif words.startswith(("a list", "a tuple")):
        yield "torch.stack and torch.cat make one tensor of several."


def _of_another_dtype(wanted: TensorType, value: torch.Tensor | Elsewhere) -> Iterator[str]:
    if wanted.category != "boolean" or not isinstance(value, torch.Tensor) or not value.numel():
        return
    if bool(((value == 0) | (value == 1)).all()):
        yield "Every number in it is 0 or 1: a comparison, or .bool(), makes it boolean."
    elif bool(((value == 0) | (value == float("-inf"))).all()):
        yield "0 and -inf are what is added to scores; a mask says True or False."
