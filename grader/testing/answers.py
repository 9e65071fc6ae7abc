"""Looks at what came back: whether it is of the type and shape that the contract says."""

from __future__ import annotations

from typing import Any

import torch

from grader.testing.contract import Adapter
from grader.testing.kinds import Anything, PlainType
from grader.testing.outcome import StudentFault
from grader.testing.wording import Wording
from grader.verdict import Status
from grader.wire.calls import Call
from grader.wire.values import Value


def checked(adapter: Adapter, value: Value, call: Call, wording: Wording) -> Any:
    """The value in an answer to a call, once it is of the type and shape that the contract says.

    Raises:
        StudentFault: if it is not.
    """
    if isinstance(adapter.result, PlainType | Anything):
        value = single_number(value)
    if any(adapter.result.misfits(value, adapter.sizes(call.arguments))):
        raise StudentFault(Status.FAILED, wording.refused(adapter, value, call))
    return adapter.result.taken(value)


def single_number(value: Value) -> Value:
    """The number, if the value is a tensor of a single one."""
    if isinstance(value, torch.Tensor) and value.numel() == 1:
        return value.item()
    return value
