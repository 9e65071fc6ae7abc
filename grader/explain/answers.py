"""Writes the text about a wrong answer: what is wrong, where, why, and in which call."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy
import pytest
import torch

from grader.core.explanation import Told
from grader.core.text import one_line, plain
from grader.core.verdict import Status
from grader.core.wire.calls import Call, Raised
from grader.core.wire.records import Line
from grader.core.wire.values import Elsewhere, Foreign, Named, Value
from grader.core.wire.values_in_words import in_words
from grader.explain.exceptions.explanation import call_in_words, fault_of, printed_in_words
from grader.testing.assertions import WrongForm, WrongNumbers
from grader.testing.comparison import single_number
from grader.testing.contract import Adapter
from grader.testing.kinds import Kind, Misfit, PlainType, TensorType, category_of
from grader.testing.outcome import StudentFault, Trace, where_of
from grader.testing.structure import wrong_shape

_LONGEST = 40


def refusal_in_words(adapter: Adapter, value: Value, call: Call, line: Line | None = None) -> str:
    """Returns the description of a value that the contract refuses, and the line of its origin."""
    misfit = _misfit(adapter, value, call)
    told = _part_refused if misfit.place else _whole_refused
    said, *advice = told(adapter, misfit, call, line)
    if adapter.is_item:
        # An item is computed while the test iterates: `line` computed only a part of it.
        return "\n".join([said, *advice, f"The test read {adapter.name}."])
    advice.append(f"The test called {call_in_words(call)}.")
    if line is None:
        return "\n".join([said, *advice])
    place = plain(f"{line.file}:{line.line}")
    return "\n".join([f"{said} ({place})", f"    {plain(line.source)}", *advice])


def is_of_wrong_shape(adapter: Adapter, value: Value, call: Call) -> bool:
    """Returns whether only the shape of a refused value is wrong, and not its type or dtype."""
    misfit = _misfit(adapter, value, call)
    return (
        not misfit.place
        and isinstance(misfit.wanted, TensorType)
        and isinstance(misfit.value, torch.Tensor | Elsewhere)
        and category_of(misfit.value) == misfit.wanted.category
    )


def _misfit(adapter: Adapter, value: Value, call: Call) -> Misfit:
    """Returns the first part of a refused value that does not fit the contract."""
    if isinstance(adapter.result, PlainType):
        value = single_number(value)
    return next(adapter.result.misfits(value, adapter.sizes(call.arguments)))


def _whole_refused(
    adapter: Adapter, misfit: Misfit, call: Call, line: Line | None
) -> Iterator[str]:
    """Yields what is wrong with a value as a whole, then advice."""
    wanted, value = misfit.wanted, misfit.value
    shape = adapter.expected_shape(call.arguments)
    is_tensor = isinstance(wanted, TensorType) and not wanted.is_array
    if is_tensor and isinstance(value, torch.Tensor | Elsewhere):
        assert isinstance(wanted, TensorType)
        if category_of(value) == wanted.category and shape is not None:
            yield wrong_shape(adapter, wanted, call.arguments, shape, tuple(value.shape))
            return
        dtype = str(value.dtype).removeprefix("torch.")
        yield f"{adapter.name} must return {wanted}, not one of dtype {dtype}"
        yield from _dtype_advice(wanted, value)
        return
    verb = "be" if adapter.is_item else "return"
    yield f"{adapter.name} must {verb} {wanted}, not {_described(value)}"
    if adapter.is_item and isinstance(value, list | tuple):
        yield "The test expects one after another: yield from gives what is in a list one by one."
        return
    yield from _advice(wanted, value, line)


def _part_refused(adapter: Adapter, misfit: Misfit, call: Call, line: Line | None) -> Iterator[str]:
    """Yields what is wrong with one part of a value, then advice."""
    wanted, value = misfit.wanted, misfit.value
    if misfit.missing or misfit.extra:
        missing, extra = (one_line(", ".join(names)) for names in (misfit.missing, misfit.extra))
        said = [f"{missing} missing"] * bool(missing) + [f"{extra} too much"] * bool(extra)
        yield f"In what {adapter.name} returned, {misfit.place} has {' and '.join(said)}"
        return
    part, got = f"In what {adapter.name} returned, {misfit.place} must", _described(value)
    if isinstance(wanted, TensorType) and isinstance(
        value, torch.Tensor | Elsewhere | numpy.ndarray
    ):
        shape, own = wanted.shape(adapter.sizes(call.arguments)), tuple(value.shape)
        if category_of(value) == wanted.category and shape not in (None, own):
            axes = " ".join(wanted.axes)
            yield f"{part} have shape ({axes}), which is {list(shape or ())}, not {list(own)}"
            return
        got = in_words(value)
    yield f"{part} be {wanted}, not {got}"
    yield from _advice(wanted, value, line)


def _described(value: Value) -> str:
    if isinstance(value, Foreign):
        return value.description
    if isinstance(value, torch.Tensor | Elsewhere):
        return f"a tensor of shape {list(value.shape)}"
    if isinstance(value, numpy.ndarray):
        return f"a numpy array of shape {list(value.shape)} and dtype {value.dtype}"
    if value is None:
        return "None"
    if isinstance(value, Named):
        return f"the named tuple {in_words(value)}"
    if isinstance(value, list | tuple | dict | set | frozenset):
        if not value:
            return f"an empty {type(value).__name__}"
        return f"a {type(value).__name__} of {len(value)}: {in_words(value)[1:-1].rstrip(',')}"
    words = repr(value) if isinstance(value, str | bytes) else str(value)
    return f"the {type(value).__name__} {words[:_LONGEST]}"


def _advice(wanted: Kind, value: Value, line: Line | None) -> Iterator[str]:
    words = value.description if isinstance(value, Foreign) else ""
    is_tensor = isinstance(wanted, TensorType) and not wanted.is_array
    if value is None:
        yield _return_advice(line)
    elif isinstance(value, numpy.ndarray) and is_tensor:
        yield "Stay with torch throughout, and return the tensor: numpy ends the gradient."
    elif words.startswith("a tensor of dtype torch.uint"):
        yield "Torch computes with signed integers: .long(), or dtype=torch.long, makes it int64."


def _return_advice(line: Line | None) -> str:
    source = "" if line is None else line.source
    statement = re.match(r"(return|raise)\b", source)
    if source and statement is None:
        return "The function ends there without a return, and so gives None: return the result."
    if statement is not None and statement[1] == "return":
        return f"This line returns None: {source}"
    return "Is there a return at its end, on every way through it?"


def _dtype_advice(wanted: TensorType, value: torch.Tensor | Elsewhere) -> Iterator[str]:
    if wanted.category != "boolean" or not isinstance(value, torch.Tensor) or not value.numel():
        return
    if bool(((value == 0) | (value == 1)).all()):
        yield "Every number in it is 0 or 1: a comparison, or .bool(), makes it boolean."


class InFull:
    """A `Wording` that gives every known detail."""

    names_lines = True

    def raised(self, raised: Raised, adapter: str, call: Call | None = None) -> StudentFault:
        """Returns a fault that names the exception, its line and its operands, and explains it."""
        return fault_of(raised, adapter, call)

    def refused(self, adapter: Adapter, value: Value, call: Call, trace: Trace) -> StudentFault:
        """Returns a fault that names the refused value, its line and its call, with advice."""
        line = None if is_of_wrong_shape(adapter, value, call) else trace()
        said = refusal_in_words(adapter, value, call, line)
        return StudentFault(Status.FAILED, said, where_of(line))

    def printed(self, text: str) -> Sequence[str]:
        """Returns the last lines of a printed text."""
        return tuple(printed_in_words(text))


def words_of(raised: BaseException, about: str) -> Told:
    """Returns the words for a test that raised an exception; `about` is the test's subject."""
    if isinstance(raised, StudentFault):
        where = raised.where
        return Told(plain(raised.message), where=where)
    if isinstance(raised, WrongNumbers):
        return Told(plain(str(raised)), raised.comparison.measurement)
    if isinstance(raised, WrongForm):
        return Told(plain(str(raised)), where=raised.where)
    if isinstance(raised, AssertionError | pytest.fail.Exception):
        return Told(plain(str(raised).partition("\nassert ")[0]) or about)
    return Told(f"this answer cannot be compared with the expected one ({type(raised).__name__})")
