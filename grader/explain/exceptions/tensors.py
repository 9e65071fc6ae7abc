"""Kinds of exceptions of torch and einops: patterns, devices, dtypes, autograd, arguments."""

from __future__ import annotations

import re

from grader.core.wire.calls import Raised
from grader.explain.exceptions.kinds import ExceptionKind, Explanation, dtype_name, kind

# torch writes C's names of dtypes, too: `long int`.
_DTYPE = r"((?:(?:long|short|signed|unsigned) )?[\w:.]*\w)"
_FLOATS = {"float16", "bfloat16", "float32", "float64"}


def _unequal(match: re.Match[str], _: Raised) -> str | None:
    one, other = (dtype_name(word) for word in match.groups())
    if one == other:
        return None
    said = f"One tensor is {one} and the other {other}"
    if {one, other} <= _FLOATS:
        return (
            f"{said}: make new tensors and modules in the dtype of the input (dtype=x.dtype), or "
            "convert one (.to(x.dtype))."
        )
    return f"{said}, and torch needs one dtype here: convert one of them (.to(x.dtype))."


def _einops(match: re.Match[str], _: Raised) -> Explanation:
    pattern, shape, sizes, reason = (" ".join(part.split()) for part in match.groups())
    given = f" with {sizes}" if sizes != "{}" else ""
    message = f'"{pattern}" does not fit a tensor of shape {shape}{given}: {reason}'
    axes = re.search(r"expected (\d+) dims", reason)
    if axes and "..." not in pattern:
        said = f"The pattern names {axes[1]} axes."
        ellipsis = "An ellipsis (...) on both sides stands for any leading axes."
        return Explanation(f"{said} {ellipsis}", message)
    if "can't divide axis" in reason:
        return Explanation("A group in brackets must multiply to the length of its axis.", message)
    return Explanation("", message)


def _of_the_tests(_: re.Match[str], raised: Raised) -> str | None:
    """Returns how the tests call an adapter, whose own lines did not begin to run."""
    if not raised.accepts:
        return None
    return (
        "The tests call it by the names of the parameters in the assignment's adapters.py; yours "
        f"is {raised.accepts}."
    )


TENSORS: tuple[ExceptionKind, ...] = (
    kind(
        r"^EinopsError:\s+Error while processing \S+ pattern \"([^\"]*)\"\.\s+Input tensor shape: "
        r"torch\.Size\(([^)]*)\)\. Additional info: (\{[^}]*\})\.\s+(.*)",
        _einops,
    ),
    kind(
        r"not compiled with CUDA|No CUDA GPUs|Found no NVIDIA driver|NVTX functions not installed"
        r"|CUDA error: no CUDA-capable device|CUDA driver (?:init|version)"
        r"|Attempting to deserialize object on a CUDA device"
        r"|from the '(?:MPS|CUDA)' backend|MPS backend",
        "No GPU can be used here: take the device of an input (x.device), and leave out what only "
        "a GPU can do.",
    ),
    kind(
        r"Tensor on device (\w+)\S* is not on the expected device (\w+)"
        r"|Expected all tensors to be on the same device, but (?:found at least two devices, "
        r"|got .*? is on )(\w+)",
        "The tensors of an operation must lie on one device. One of these was made without "
        "device=x.device, moved to another device, or kept from an earlier call.",
    ),
    kind(r"expected scalar type (\w+) but found (\w+)", _unequal),
    kind(rf"same dtype, but (?:got|found):? {_DTYPE}(?: and| !=|,) {_DTYPE}", _unequal),
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
        r"cannot assign (?:module|parameters?) before Module\.__init__\(\) call",
        "super().__init__(...) was not called before: call it first in the __init__ of a class "
        "that is derived from one of torch's.",
    ),
    kind(r"TypeError: \S+\(\) (?:got an unexpected|missing \d+ required|takes )", _of_the_tests),
)
