"""Explains what autograd and modules refuse."""

from __future__ import annotations

import re

from grader.core.wire.calls import Raised
from grader.explain.exceptions.kinds import ExceptionKind, kind

_INIT = (
    "super().__init__(...) was not called before: it comes first in the __init__ of a class that "
    "is derived from one of torch's."
)
_MADE_BY_TORCH = (
    "parameters|buffers|modules|non_persistent_buffers_set|"
    r"(?:forward|backward|state_dict|load_state_dict|optimizer)_\w*hooks\w*"
)


def _no_forward(match: re.Match[str], _: Raised) -> str:
    if match[1] in ("ModuleList", "ModuleDict", "ParameterList", "ParameterDict"):
        return f"A {match[1]} only holds what is in it: go through it, and call one after another."
    return (
        f"The method of {match[1]} that does the work must be called forward, and be indented as "
        "part of the class."
    )


AUTOGRAD: tuple[ExceptionKind, ...] = (
    kind(
        r"a (?:view of a )?leaf Variable that requires grad is being used in an in-place",
        "The line writes into a tensor whose gradient is wanted, an input or a parameter. Make a "
        "new tensor instead (torch.stack, torch.cat, x * y); to set a parameter, use "
        "torch.no_grad().",
    ),
    kind(
        r"needed for gradient computation has been modified by an inplace operation",
        "A tensor was changed in place (+=, x[...] =, a name that ends in _) after autograd had "
        "noted it for the gradient: make a new tensor instead.",
    ),
    kind(
        r"more than one element of the written-to tensor refers to a single memory",
        "The line writes into a tensor of which several numbers are one in memory, as expand makes "
        "them: make a new tensor instead.",
    ),
    kind(
        r"Can't call numpy\(\) on Tensor that requires grad",
        "numpy ends the gradient: stay with torch operations.",
    ),
    kind(
        r"element 0 of tensors does not require grad",
        "As far as autograd knows, the result depends on nothing whose gradient is wanted: was it "
        "computed under torch.no_grad(), detached, or made of plain numbers?",
    ),
    kind(
        r"attribute '(\w+)' already exists",
        "The module has a {0} already: an attribute, a parameter or a method. Leave out an earlier "
        "assignment, or choose another name.",
    ),
    kind(r"cannot assign (?:module|parameters?) before Module\.__init__\(\) call", _INIT),
    kind(rf"has no attribute '_(?:{_MADE_BY_TORCH})'", _INIT),
    kind(
        r"cannot assign '[\w.]+' as parameter '(\w+)' \(torch\.nn\.Parameter or None expected\)",
        "{0} is a parameter, and only a parameter can take its place: wrap the tensor in "
        "torch.nn.Parameter(...), or copy its numbers with .copy_(...) under torch.no_grad().",
    ),
    kind(
        r"Module \[(\w+)\] is missing the required \"forward\" function",
        _no_forward,
    ),
)
