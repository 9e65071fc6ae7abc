"""Says what came back instead of a value of the type and shape that the contract asks for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import torch

from grader.explaining.exceptions.account import call_in_words
from grader.plain_text import plain
from grader.testing.answers import single_number
from grader.testing.contract import Adapter, TensorType, category_of, counted
from grader.testing.shapes import wrong_shape
from grader.wire.calls import Call, Traced
from grader.wire.frames import Elsewhere, Foreign, Value, tensor_in_words
from grader.wire.records import Line

_LONGEST = 40


def refusal_in_words(adapter: Adapter, value: Value, call: Call, line: Line | None = None) -> str:
    """What a value that the contract refuses is instead, and where it comes from; a line each."""
    wanted = adapter.result
    if isinstance(wanted, TensorType):
        said, *advice = _complaint(adapter, wanted, value, call.arguments, line)
        advice.append(f"The test called {call_in_words(call)}.")
    else:
        value = single_number(value)
        said = f"{adapter.name} must return an int, not {_described(value)}"
        advice = list(_advice(value, line))
    if line is None:
        return "\n".join([said, *advice])
    place = plain(f"{line.file}, line {line.line}")
    return "\n".join([f"{said} ({place})", f"    {plain(line.source)}", *advice])


def wrong_with(adapter: Adapter, value: Value) -> Traced:
    """What of a refused value is not what the contract says."""
    wanted = adapter.result
    if not isinstance(wanted, TensorType) or not isinstance(value, torch.Tensor | Elsewhere):
        return Traced.TYPE
    return Traced.SHAPE if category_of(value) == wanted.category else Traced.DTYPE


def _complaint(
    adapter: Adapter,
    wanted: TensorType,
    value: Value,
    arguments: Mapping[str, Value],
    line: Line | None,
) -> list[str]:
    """What is wrong with a value that must be a tensor."""
    shape = adapter.expected_shape(arguments)
    if not isinstance(value, torch.Tensor | Elsewhere):
        said = f"{adapter.name} must return {wanted}, not {_described(value)}"
        fits = _fitting(value, wanted, shape) if isinstance(value, Foreign) else None
        return [said, fits] if fits else [said, *_advice(value, line)]
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
    """Which elements of a tuple would have been right, if any would."""
    fitting = [
        place
        for place, element in enumerate(value.elements)
        if element is not None
        and category_of(element) == wanted.category
        and element.shape == shape
    ]
    if not fitting:
        return None
    element = value.elements[fitting[0]]
    assert element is not None
    words = tensor_in_words(element.dtype, element.shape)
    if value.description.startswith("a tuple of 1:"):
        return "A comma at the end of a line makes a tuple of one: leave it out."
    if len(fitting) == 1:
        return f"Its {counted(fitting[0])} element, {words}, fits: return that one alone."
    return (
        f"One tensor is wanted, and {len(fitting)} of these are {words}: return the one alone that "
        f"is asked for{', the first perhaps' if fitting[0] == 0 else ''}."
    )


def _advice(value: Value, line: Line | None) -> Iterator[str]:
    words = value.description if isinstance(value, Foreign) else ""
    if value is None:
        yield _without_a_return(line)
    elif isinstance(value, float):
        yield "/ always gives a float, // a whole number."
    elif words.startswith("a numpy array"):
        yield "Stay with torch throughout, and return the tensor: numpy ends the gradient."
    elif words.startswith("a module"):
        yield "Was the module made, and not called?"
    elif words.startswith("an object that can be called"):
        yield "Was the object made, and not called?"
    elif words.startswith("a function"):
        yield "Was the function not called?"
    elif words.startswith(("a list", "a tuple")):
        yield from _of_several(value, line)


def _without_a_return(line: Line | None) -> str:
    source = "" if line is None else line.source
    if source.startswith("print("):
        return "What is printed is not returned: write return in the place of print."
    if source and not source.startswith(("return", "raise")):
        return "The function ends there without a return, and so gives None: return the result."
    return "Is there a return at its end, on every way through it?"


def _of_several(value: Value, line: Line | None) -> Iterator[str]:
    """What to do with a list or tuple that is no result."""
    tensors = [one for one in value.elements if one] if isinstance(value, Foreign) else []
    if tensors:
        yield "torch.stack and torch.cat make one tensor of several."
    elif line is not None and ".tolist()" in line.source:
        yield "Leave .tolist() out: the tensor itself is wanted."
    else:
        yield "torch.tensor makes a tensor of a list of numbers."


def _of_another_dtype(wanted: TensorType, value: torch.Tensor | Elsewhere) -> Iterator[str]:
    if wanted.category != "boolean" or not isinstance(value, torch.Tensor) or not value.numel():
        return
    if bool(((value == 0) | (value == 1)).all()):
        yield "Every number in it is 0 or 1: a comparison, or .bool(), makes it boolean."
    elif bool(((value == 0) | (value == float("-inf"))).all()):
        yield "0 and -inf are what is added to scores; a mask says True or False."
