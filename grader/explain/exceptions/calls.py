"""Kinds of exceptions of calls: arguments, autograd and modules."""

from __future__ import annotations

import re

from grader.core.wire.calls import Raised
from grader.explain.exceptions.kinds import ExceptionKind, dtype_name, kind


def _of_the_tests(_: re.Match[str], raised: Raised) -> str | None:
    """Returns how the tests call an adapter, whose own lines did not begin to run."""
    if not raised.accepts:
        return None
    return (
        "The tests call it by the names of the parameters in the assignment's adapters.py; yours "
        f"is {raised.accepts}."
    )


ARGUMENTS: tuple[ExceptionKind, ...] = (
    kind(r"TypeError: \S+\(\) (?:got an unexpected|missing \d+ required|takes )", _of_the_tests),
)


AUTOGRAD: tuple[ExceptionKind, ...] = (
    kind(
        r"a (?:view of a )?leaf Variable that requires grad is being used in an in-place",
        "The line writes into a tensor that needs a gradient, an input or a parameter. Make a "
        "new tensor instead (torch.stack, torch.cat, x * y); to set a parameter, use "
        "torch.no_grad().",
    ),
    kind(
        r"needed for gradient computation has been modified by an inplace operation",
        "A tensor was changed in place (+=, x[...] =, a name that ends in _) after autograd "
        "saved it for the gradient. Make a new tensor instead.",
    ),
    kind(
        r"Can't call numpy\(\) on Tensor that requires grad",
        "numpy ends the gradient: stay with torch operations.",
    ),
    kind(
        r"Got unsupported ScalarType (\w+)",
        lambda match, _: f"numpy has no {dtype_name(match[1])}: stay with torch operations.",
    ),
    kind(
        r"cannot assign (?:module|parameters?) before Module\.__init__\(\) call",
        "super().__init__(...) was not called before: call it first in the __init__ of a class "
        "that is derived from one of torch's.",
    ),
)
