"""Looks at what came back: whether it is of the type and shape that the contract says."""

from __future__ import annotations

from typing import Any

import numpy
import torch

from grader.core.wire.calls import Call
from grader.core.wire.values import Value
from grader.testing.contract.contract import Adapter
from grader.testing.contract.kinds import Anything, PlainType
from grader.testing.wording import Trace, Wording


def checked(
    adapter: Adapter,
    value: Value,
    call: Call,
    wording: Wording,
    trace: Trace,
) -> Any:
    """The value in an answer to a call, once it is of the type and shape that the contract says.

    Where that is None, what counts is what the call did: a norm or a loss that it returns besides
    is nobody's business. `trace` finds the line that is behind it, for a wording that tells of
    lines.

    Raises:
        StudentFault: if it is not.
    """
    if adapter.result == PlainType(type(None)):
        return None
    if isinstance(adapter.result, PlainType | Anything):
        value = single_number(value)
    if any(adapter.result.misfits(value, adapter.sizes(call.arguments))):
        raise wording.refused(adapter, value, call, trace)
    return adapter.result.taken(value)


def single_number(value: Value) -> Value:
    """The number, if the value is a tensor of a single one, or an array as `numpy.where` gives."""
    if isinstance(value, torch.Tensor) and value.numel() == 1:
        return value.item()
    if isinstance(value, numpy.ndarray) and value.size == 1:
        number: bool | int | float = value.item()
        return number
    return value
