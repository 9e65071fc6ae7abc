"""Kinds of exceptions of tensors: dtypes, devices, einops patterns."""

from __future__ import annotations

import re

from grader.core.wire.calls import Raised
from grader.explain.exceptions.kinds import (
    ExceptionKind,
    Explanation,
    dtype_name,
    kind,
)

# torch writes C's names of dtypes, too: `long int`.
_DTYPE = r"((?:(?:long|short|signed|unsigned) )?[\w:.]*\w)"


def _unequal(match: re.Match[str], _: Raised) -> str | None:
    one, other = (dtype_name(word) for word in match.groups())
    if one == other:
        return None
    if not (_is_floating(one) and _is_floating(other)):
        return (
            f"One tensor is {one} and the other {other}, and torch needs one dtype here: convert "
            "one of them (.to(x.dtype))."
        )
    return (
        f"One tensor is {one} and the other {other}: make new tensors and modules in the dtype of "
        "the input (dtype=x.dtype), or convert one (.to(x.dtype))."
    )


def _is_floating(dtype: str) -> bool:
    return dtype in ("float16", "bfloat16", "float32", "float64")


DTYPES: tuple[ExceptionKind, ...] = (
    kind(r"expected scalar type (\w+) but found (\w+)", _unequal),
    kind(rf"same dtype, but (?:got|found):? {_DTYPE}(?: and| !=|,) {_DTYPE}", _unequal),
)

_NO_GPU = (
    "No GPU can be used here: take the device of an input (x.device), and leave out "
    "what only a GPU can do."
)

DEVICES: tuple[ExceptionKind, ...] = (
    kind(
        r"not compiled with CUDA|No CUDA GPUs|Found no NVIDIA driver|NVTX functions not installed"
        r"|CUDA error: no CUDA-capable device|CUDA driver (?:init|version)"
        r"|Attempting to deserialize object on a CUDA device"
        r"|from the '(?:MPS|CUDA)' backend|MPS backend",
        _NO_GPU,
    ),
    kind(
        r"Tensor on device (\w+)\S* is not on the expected device (\w+)"
        r"|Expected all tensors to be on the same device, but (?:found at least two devices, "
        r"|got .*? is on )(\w+)",
        "The tensors of an operation must lie on one device. One of these was made without "
        "device=x.device, moved to another device, or kept from an earlier call.",
    ),
)


_ELLIPSIS = "An ellipsis (...) on both sides stands for any leading axes."


def _einops(match: re.Match[str], _: Raised) -> Explanation:
    pattern, shape, sizes, reason = (" ".join(part.split()) for part in match.groups())
    given = f" with {sizes}" if sizes != "{}" else ""
    message = f'"{pattern}" does not fit a tensor of shape {shape}{given}: {reason}'
    axes = re.search(r"expected (\d+) dims", reason)
    if axes and "..." not in pattern:
        return Explanation(f"The pattern names {axes[1]} axes. {_ELLIPSIS}", message)
    if "can't divide axis" in reason:
        return Explanation("A group in brackets must multiply to the length of its axis.", message)
    return Explanation("", message)


PATTERNS: tuple[ExceptionKind, ...] = (
    kind(
        r"^EinopsError:\s+Error while processing \S+ pattern \"([^\"]*)\"\.\s+Input tensor shape: "
        r"torch\.Size\(([^)]*)\)\. Additional info: (\{[^}]*\})\.\s+(.*)",
        _einops,
    ),
)
