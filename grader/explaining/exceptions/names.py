"""Explains names, attributes and truth values that are not there."""

from __future__ import annotations

import re

from grader.explaining.exceptions.kinds import Kind, kind, names_in_words, source_of
from grader.wire.calls import Raised

_IMPORTS = {
    "torch": "import torch",
    "nn": "from torch import nn",
    "F": "import torch.nn.functional as F",
    "Tensor": "from torch import Tensor",
    "math": "import math",
    "np": "import numpy as np",
    "einops": "import einops",
    **dict.fromkeys(("rearrange", "repeat", "reduce"), "from einops import …"),
    "einsum": "from einops import einsum, or torch.einsum",
    **dict.fromkeys(("Float", "Int", "Bool"), "from jaxtyping import …"),
    **dict.fromkeys(("Optional", "Tuple", "List", "Dict", "Any"), "from typing import …"),
}


def _no_name(match: re.Match[str], raised: Raised) -> str | None:
    name = match[1]
    if name in _IMPORTS:
        return f"Is an import missing ({_IMPORTS[name]})?"
    return _meant(raised)


def _no_attribute(match: re.Match[str], raised: Raised) -> str | None:
    owner, name = match.groups()
    if owner == "NoneType":
        return _nothing(match, raised)
    return _meant(raised) or (
        f"Is self.{name} set in __init__ under another name, or only later?"
        if f"self.{name}" in source_of(raised)
        else None
    )


def _meant(raised: Raised) -> str | None:
    return f"Did you mean {raised.suggestion}?" if raised.suggestion else None


def _nothing(_: re.Match[str], raised: Raised) -> str:
    nothing = [operand.name for operand in raised.operands if operand.words == "None"]
    if not nothing:
        return "Something there is None: does a function of yours lack its return?"
    verb = "is" if len(nothing) == 1 else "are"
    return (
        f"{names_in_words(nothing)} {verb} None there: an argument that was left out, or what a "
        "function without a return gives."
    )


def _truth(_: re.Match[str], raised: Raised) -> str:
    tensors = [operand.name for operand in raised.operands if "[" in operand.words]
    name = tensors[0] if tensors else "x"
    return (
        "A tensor of several numbers is neither true nor false. To ask whether it was given, write "
        f"{name} is None or {name} is not None; to combine booleans, & | ~ instead of and, or, not."
    )


NAMES: tuple[Kind, ...] = (
    kind(r"NameError: name '(\w+)' is not defined", _no_name),
    kind(
        r"UnboundLocalError: cannot access local variable '(\w+)'",
        "{0} is set only on another way through the function (in an if, or further down).",
    ),
    kind(r"AttributeError: '(\w+)' object has no attribute '(\w+)'", _no_attribute),
    kind(r"AttributeError: .*has no attribute", lambda _, raised: _meant(raised)),
    kind(r"TypeError: .*'NoneType'", _nothing),
    kind(r"TypeError: linear\(\).*not NoneType|must be Tensor, not NoneType", _nothing),
    kind(
        r"(?:Boolean|bool) value of Tensor with (?:more than one|no) value",
        _truth,
    ),
    kind(
        r"TypeError: '(\w+)' object is not callable",
        "Round brackets after a {0} call it: should they be square, or is there an operator "
        "missing, or does the name hide a function?",
    ),
)
