"""Looks at what came back: whether it is of the type and shape that the contract says."""

from __future__ import annotations

from typing import Any

import torch

from grader.testing.contract import Adapter, TensorType, category_of
from grader.testing.wording import Trace, Wording
from grader.wire.calls import Call
from grader.wire.frames import Elsewhere, Value


def checked(
    adapter: Adapter,
    value: Value,
    call: Call,
    wording: Wording,
    trace: Trace,
) -> Any:
    """The value in an answer to a call, once it is of the type and shape that the contract says.

    `trace` finds the line that is behind it, for a wording that tells of lines.

    Raises:
        StudentFault: if it is not.
    """
    if isinstance(adapter.result, TensorType):
        fits = _is_such_a_tensor(adapter, adapter.result, value, call)
    else:
        value = single_number(value)
        fits = adapter.result is not int or type(value) is int
    if not fits:
        raise wording.refused(adapter, value, call, trace)
    return value


def single_number(value: Value) -> Value:
    """The number, if the value is a tensor of a single one."""
    if isinstance(value, torch.Tensor) and value.numel() == 1:
        return value.item()
    return value


def _is_such_a_tensor(adapter: Adapter, wanted: TensorType, value: Value, call: Call) -> bool:
    if not isinstance(value, torch.Tensor | Elsewhere) or category_of(value) != wanted.category:
        return False
    shape = adapter.expected_shape(call.arguments)
    return shape is None or tuple(value.shape) == shape
