"""Explains what autograd and modules refuse."""

from __future__ import annotations

from grader.explaining.exceptions.kinds import Kind, kind

_INIT = "super().__init__() comes first in the __init__ of a module."

AUTOGRAD: tuple[Kind, ...] = (
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
        "The line writes into an expanded tensor, whose rows are one and the same in memory: make "
        "a new tensor instead.",
    ),
    kind(
        r"Can't call numpy\(\) on Tensor that requires grad",
        "numpy ends the gradient: stay with torch operations.",
    ),
    kind(
        r"element 0 of tensors does not require grad",
        "The result does not depend on anything whose gradient is wanted.",
    ),
    kind(
        r"attribute '(\w+)' already exists",
        "self.{0} was set before it was registered: leave out the earlier assignment.",
    ),
    kind(r"cannot assign (?:module|parameters?) before Module\.__init__\(\) call", _INIT),
    kind(r"has no attribute '_\w*(?:parameters|buffers|modules|hooks)\w*'", _INIT),
    kind(
        r"cannot assign '[\w.]+' as parameter '(\w+)' \(torch\.nn\.Parameter or None expected\)",
        "{0} is a parameter, and only a parameter can take its place: wrap the tensor in "
        "torch.nn.Parameter(...), or copy its numbers with .copy_(...) under torch.no_grad().",
    ),
    kind(
        r"Module \[(\w+)\] is missing the required \"forward\" function",
        "The method of {0} that does the work must be called forward, and be indented as part of "
        "the class.",
    ),
)
