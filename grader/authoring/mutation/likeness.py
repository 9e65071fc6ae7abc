"""Whether two programs may be taken for the same: by their bytecode, by their answers."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import CodeType
from typing import Any

import torch

from grader.core.settings import CPU
from grader.core.wire.calls import Answer, Call
from grader.core.wire.flattening import as_tensor
from grader.core.wire.values import Value
from grader.testing.handles.handle import call_in_float64
from grader.worker.interpreter import Living
from grader.worker.marshalling import same_values
from grader.worker.performing import perform

# Of the largest number in a tensor: what sums in another order may come to in float64.
_ROUNDING = 1e-11
# And in the dtype of the call, which may be as rough as bfloat16.
_ROUGHLY = 0.02
_MOST_PRECISE = 24

SAME_CODE = "the same bytecode"
SAME_ANSWERS = "the same answers to the last bit"
SAME_BUT_FOR_ROUNDING = "the same answers within rounding"

Function = Callable[..., Any]


def same_code(one: CodeType, other: CodeType) -> bool:
    """Whether two modules were compiled to the same, wherever their texts stand."""
    return _essence(one) == _essence(other)


def _essence(code: CodeType) -> Hashable:
    constants = tuple(
        _essence(value) if isinstance(value, CodeType) else (type(value), repr(value))
        for value in code.co_consts
    )
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    counts = (code.co_argcount, code.co_kwonlyargcount, code.co_posonlyargcount, code.co_flags)
    return code.co_code, constants, names, counts, code.co_exceptiontable


def answers(
    function: Function, calls: Sequence[Call], root: Path, functions: Mapping[str, Function]
) -> Iterator[Answer]:
    """What a function answers to calls of an adapter, though it may write into what it is given.

    Steps that were taken for one are not taken again for the next. Other `functions`, by exercise,
    are at hand where a call asks them.
    """
    functions = {**functions, **{call.adapter: function for call in calls}}
    with Living(functions) as living:
        for call in calls:
            yield perform(function, _own(call), root, functions, living)


def _own(call: Call) -> Call:
    own = {
        name: value.clone() if isinstance(value, torch.Tensor) else value
        for name, value in call.arguments.items()
    }
    return replace(call, arguments=own, frame=None)


def answers_exactly(
    function: Function,
    calls: Sequence[Call],
    expected: Sequence[Answer],
    root: Path,
    functions: Mapping[str, Function],
) -> bool:
    """Whether a function gives these answers to the last bit, for the same work."""
    given = answers(function, calls, root, functions)
    return all(
        answer.work == right.work and _same(answer, right, 0.0)
        for answer, right in zip(given, expected, strict=True)
    )


def how_alike(
    one: Function,
    other: Function,
    calls: Sequence[Call],
    root: Path,
    functions: Mapping[str, Function],
) -> str | None:
    """In which sense two functions answer alike, for whatever work; None if they do not.

    All answers must be roughly the same, and those to the first few calls that are not answered
    exactly alike the same within the rounding of float64.
    """
    found, precise = SAME_ANSWERS, 0
    before, after = (answers(function, calls, root, functions) for function in (one, other))
    for call, right, edited in zip(calls, before, after, strict=True):
        if _same(right, edited, 0.0):
            continue
        found = SAME_BUT_FOR_ROUNDING
        if not _same(right, edited, _ROUGHLY):
            return None
        if precise < _MOST_PRECISE and call.device == CPU and not call.counts:
            precise += 1
            exact = [_in_float64(call)]
            (right,) = answers(one, exact, root, functions)
            (edited,) = answers(other, exact, root, functions)
            if not _same(right, edited, _ROUNDING):
                return None
    return found


def _in_float64(call: Call) -> Call:
    cotangent = None if call.cotangent is None else call.cotangent.double()
    return replace(call_in_float64(call), cotangent=cotangent)


def _same(one: Answer, other: Answer, rounding: float) -> bool:
    """Whether two answers are the same, however much work they were."""
    if one.raised is not None or other.raised is not None:
        return one.raised is not None and other.raised is not None
    return (
        _alike(one.value, other.value, rounding)
        and one.gradients.keys() == other.gradients.keys()
        and all(_alike(one.gradients[n], other.gradients[n], rounding) for n in one.gradients)
        and one.changed_inputs == other.changed_inputs
    )


def _alike(one: Value, other: Value, rounding: float) -> bool:
    if type(one) is not type(other) or rounding == 0.0:
        return same_values(one, other)
    one, other = as_tensor(one), as_tensor(other)
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    if not one.is_floating_point():
        return bool(((one == other) | (one.ne(one) & other.ne(other))).all())
    finite = one[one.isfinite()].abs()
    largest = float(finite.max()) if finite.numel() else 0.0
    return torch.allclose(one, other, rtol=0, atol=rounding * max(largest, 1.0), equal_nan=True)
