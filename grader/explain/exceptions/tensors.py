"""Kinds of exceptions of tensors: dtypes, devices, einops patterns, weights that do not load."""

from __future__ import annotations

import re

from grader.core.wire.calls import MAX_MESSAGE, Raised
from grader.explain.exceptions.kinds import (
    ExceptionKind,
    Explanation,
    dtype_name,
    kind,
    names_in_words,
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
    kind(
        r"type must be tuple of ints,but got float|'float' object cannot be interpreted as an int",
        "A float stands where an int is needed: // divides whole numbers to a whole one, int(...) "
        "makes one of a float.",
    ),
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
    kind(
        r"legacy constructor expects device type: cpu but device type: \w+ was passed",
        "torch.Tensor(…), torch.LongTensor(…) and their like make tensors on the CPU only: "
        "torch.tensor(…, device=…) takes any device.",
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


_KEY = re.compile(r'"([^"\n]{1,200})"')
_SHAPES = re.compile(
    r"size mismatch for (\S+): copying a param with shape torch\.Size\((\[.*?\])\) from checkpoint,"
    r" the shape in current model is torch\.Size\((\[.*?\])\)"
)
_MOST = 6
_MORE = "more"


def _state_dict(match: re.Match[str], raised: Raised) -> Explanation:
    module, text = match[1], raised.message
    missing, unexpected = _keys(text, "Missing"), _keys(text, "Unexpected")
    sentences = []
    if missing:
        sentences.append(f"{module} also needs {_in_words(missing)}, and gets no value.")
    if unexpected:
        sentences.append(f"{module} has no {_in_words(unexpected)}.")
    if missing and unexpected:
        sentences.append(
            "The keys must be the module's own names, or the module's names those of the keys."
        )
    shapes = _SHAPES.findall(text)
    for key, given, wanted in shapes[:_MOST]:
        sentences.append(f"{key} is {given} in what is loaded, and {wanted} in {module}.")
    if len(shapes) > _MOST:
        others = f"{len(shapes) - _MOST} more" if len(text) < MAX_MESSAGE else "More"
        sentences.append(f"{others} have other shapes.")
    return Explanation(
        " ".join(sentences), f"load_state_dict cannot load these weights into {module}"
    )


def _keys(text: str, which: str) -> list[str]:
    found = re.search(rf"{which} key\(s\) in state_dict: ([^\n]*)", text)
    keys = _KEY.findall(found[1]) if found else []
    # The worker cuts long lists, and nobody knows how many keys these have.
    return [*keys[:_MOST], _MORE] if found and found[1].endswith("…") else keys


def _in_words(keys: list[str]) -> str:
    return names_in_words(keys, _MOST + (keys[-1] == _MORE))


STATE_DICT: tuple[ExceptionKind, ...] = (
    kind(r"Error\(s\) in loading state_dict for (\w+):", _state_dict),
)
