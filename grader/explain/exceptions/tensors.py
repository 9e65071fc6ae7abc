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
    source_of,
)

# torch writes C's names of dtypes, too: `long int`.
_DTYPE = r"((?:(?:long|short|signed|unsigned) )?[\w:.]*\w)"
_LARGEST = {"float16": "65504", "bfloat16": "3.39e38"}


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


def _no_such_operation(match: re.Match[str], _: Raised) -> str:
    dtype = dtype_name(match[1])
    to = " Convert to floating-point numbers first." if dtype.startswith(("int", "bool")) else ""
    return f"torch cannot do this with {dtype} tensors.{to}"


def _no_mask(match: re.Match[str], _: Raised) -> str:
    return (
        f"The mask must be a boolean tensor, and is of dtype {dtype_name(match[1])}: .bool(), or a "
        "comparison, makes one."
    )


def _too_large(match: re.Match[str], _: Raised) -> str:
    dtype = dtype_name(match[1])
    if not _is_floating(dtype):
        return f"A tensor of {dtype.removesuffix('_t')} cannot hold that number."
    largest = f" (at most {_LARGEST[dtype]} in size)" if dtype in _LARGEST else ""
    return f"The number is beyond what {dtype} can hold{largest}; float('-inf') fits it."


def _no_index(_: re.Match[str], raised: Raised) -> str:
    indices = " ".join(re.findall(r"\[([^\[\]]*)\]", source_of(raised)))
    got = [
        one
        for one in raised.operands
        if one.words.startswith("float") and re.search(rf"\b{re.escape(one.name)}\b", indices)
    ]
    named = f": {got[0].name} is {got[0].words}" if len(got) == 1 else ""
    return f"Only integers and booleans can be indices{named}."


DTYPES: tuple[ExceptionKind, ...] = (
    kind(r"expected scalar type (\w+) but found (\w+)", _unequal),
    kind(rf"same dtype, but (?:got|found):? {_DTYPE}(?: and| !=|,) {_DTYPE}", _unequal),
    kind(
        r"Index put requires the source and destination dtypes match, got (\w+) for .* and (\w+)",
        _unequal,
    ),
    kind(r"tensors used as indices must be long", _no_index),
    kind(r"to have one of the following scalar types: Long, Int", _no_index),
    kind(
        r'"bitwise_xor\w*" not implemented|unsupported operand type\(s\) for \^',
        "^ is exclusive or, of booleans and whole numbers; a power is written **.",
        settles=True,
    ),
    kind(r'NotImplementedError: "\w+" not implemented for \'(\w+)\'', _no_such_operation),
    kind(r"could not infer output dtype.*Got: (\w+)", _no_such_operation),
    kind(r"masked_fill_? only supports boolean masks, but got mask with dtype (\S+)", _no_mask),
    kind(r"expected condition to be a boolean tensor, but got a tensor with dtype (\w+)", _no_mask),
    kind(
        r"view_as_complex is only supported for .* scalar type: (\w+)",
        lambda match, _: (
            f"torch has no complex numbers of {dtype_name(match[1])}: convert with .float() first, "
            "and the result back with .to(x.dtype)."
        ),
    ),
    kind(r"value cannot be converted to type (\S+) without overflow", _too_large),
    kind(
        r"Subtraction, the `-` operator, with (?:a|two) bool tensors?",
        "torch subtracts no boolean tensors; ~mask is the opposite of a boolean mask.",
        settles=True,
    ),
    kind(
        r"result type (\w+) can't be cast to the desired output type (\w+)",
        "An operation in place keeps the dtype of the tensor that it changes, and the result does "
        "not fit it.",
    ),
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
_REPEATED = (
    r"expression contains duplicate dimension \"(\w+)\""
    r"|output subscript (\w) appears more than once"
)


def _einops(match: re.Match[str], raised: Raised) -> Explanation:
    pattern, shape, sizes, reason = (" ".join(part.split()) for part in match.groups())
    given = f" with {sizes}" if sizes != "{}" else ""
    message = f'"{pattern}" does not fit a tensor of shape {shape}{given}: {reason}'
    axes = re.search(r"expected (\d+) dims", reason)
    if axes and "..." not in pattern:
        return Explanation(f"The pattern names {axes[1]} axes. {_ELLIPSIS}", message)
    if "can't divide axis" in reason:
        return Explanation("A group in brackets must multiply to the length of its axis.", message)
    repeated = re.search(_REPEATED, reason)
    return Explanation(_repeated(repeated, raised) if repeated else "", message)


def _repeated(match: re.Match[str], _: Raised) -> str:
    return (
        f"Each axis of a tensor has a name of its own, and {match[1] or match[2]} names two: call "
        "one of them otherwise."
    )


def _einx(match: re.Match[str], raised: Raised) -> Explanation:
    equations = re.search(r"equations?.*?:\n((?:    .*\n?){1,6})", raised.message)
    told = ", ".join(line.strip() for line in equations[1].splitlines()) if equations else ""
    sentence = f"It would have to hold that {told}." if told else ""
    return Explanation(f"{sentence} {_ELLIPSIS}".strip(), match[1])


PATTERNS: tuple[ExceptionKind, ...] = (
    kind(
        r"^EinopsError:\s+Error while processing \S+ pattern \"([^\"]*)\"\.\s+Input tensor shape: "
        r"torch\.Size\(([^)]*)\)\. Additional info: (\{[^}]*\})\.\s+(.*)",
        _einops,
    ),
    kind(_REPEATED, _repeated),
    kind(r"^(?:RankError|AxisSizeError): ([^\n]*\.)\n.*equation", _einx),
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
    # Torch lets this count of a BatchNorm be missing.
    counted = [key for key in unexpected if not key.endswith("num_batches_tracked")]
    if len(missing) == len(counted) > 0 and _MORE not in (missing[-1], counted[-1]):
        sentences.append(
            f"The parameters of {module} are called {_in_words(missing)}; what is "
            f"loaded calls them {_in_words(counted)}."
        )
    else:
        if missing:
            sentences.append(f"{module} also needs {_in_words(missing)}, and gets no value.")
        if unexpected:
            sentences.append(f"{module} has no {_in_words(unexpected)}.")
    if missing and unexpected:
        sentences.append(_renaming(missing, unexpected))
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


def _renaming(missing: list[str], unexpected: list[str]) -> str:
    """Returns advice on the keys; it names the suffix or prefix if all keys are missing one."""
    wanted = set(missing)
    for suffix in dict.fromkeys(key.rpartition(".")[2] for key in missing):
        if all(f"{key}.{suffix}" in wanted for key in unexpected):
            return f"Each key is missing .{suffix} at its end."
    for prefix in dict.fromkeys(key.partition(".")[0] for key in missing):
        if all(f"{prefix}.{key}" in wanted for key in unexpected):
            return f"Each key is missing {prefix}. before it."
    return "The keys must be the module's own names, or the module's names those of the keys."


def _not_loaded(match: re.Match[str], _: Raised) -> Explanation:
    return Explanation(
        "By default torch.load loads only tensors and plain values: save a dict of these, or load "
        "with weights_only=False.",
        f"torch.load refuses to load {match[1]}",
    )


STATE_DICT: tuple[ExceptionKind, ...] = (
    kind(r"Error\(s\) in loading state_dict for (\w+):", _state_dict),
    kind(r"^UnpicklingError: .*Unsupported global: GLOBAL (\S+) was not an allowed", _not_loaded),
)
