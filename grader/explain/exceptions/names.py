"""Explains names, attributes and truth values that are not there."""

from __future__ import annotations

import re

from grader.core.wire.calls import Raised
from grader.explain.exceptions.kinds import ExceptionKind, kind, names_in_words, source_of

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

# What gives both, along an axis.
_VALUES_AND_INDICES = (
    *("max", "min", "median", "nanmedian", "mode", "sort", "topk", "kthvalue"),
    *("cummax", "cummin"),
)


# A call within which there is none.
_CALL = re.compile(r"[\w.\])]+\([^()]*\)")


def _no_name(match: re.Match[str], raised: Raised) -> str | None:
    name = match[1]
    if name in _IMPORTS:
        return f"Is an import missing ({_IMPORTS[name]})?"
    if raised.suggestion.startswith(("import ", "from ")):
        return f"Is an import missing ({raised.suggestion})?"
    if raised.suggestion.startswith("self."):
        return f"The object has one: is {raised.suggestion} meant?"
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
    if raised.message.startswith("unsupported operand"):
        nothing = [name for name in nothing if not _is_only_passed(name, source_of(raised))]
    if not nothing and ".grad" in source_of(raised):
        return (
            "Something there is None. A gradient is None where none reached that tensor: was the "
            "parameter itself given, or something made of it?"
        )
    if not nothing:
        return "Something there is None, as is what a function without a return gives."
    verb = "is" if len(nothing) == 1 else "are"
    return (
        f"{names_in_words(nothing)} {verb} None there, as is an argument that was left out, or "
        "what a function without a return gives."
    )


def _is_only_passed(name: str, source: str) -> bool:
    """Tells whether a name stands in a line only where a call is given it.

    An operator meets what that call returned.
    """
    outside = source
    while (shorter := _CALL.sub("call", outside)) != outside:
        outside = shorter
    return not re.search(rf"(?<![\w.]){re.escape(name)}(?![\w(])", outside)


def _truth(_: re.Match[str], raised: Raised) -> str:
    tensors = [operand.name for operand in raised.operands if "[" in operand.words]
    equation = re.search(r"\beinsum\(\s*([\w.]+)\s*,", source_of(raised))
    if equation and equation[1] in tensors:
        return "torch's einsum takes the equation first, then the tensors."
    name = tensors[0] if len(tensors) == 1 else "x"
    return (
        "Only a tensor of one number is true or false. To ask whether it was given, write "
        f"{name} is None or {name} is not None; to combine booleans, & | ~ instead of and, or, not."
    )


def _pair(match: re.Match[str], raised: Raised) -> str:
    function = match[1] or match[2]
    if function not in _VALUES_AND_INDICES:
        return f"{function} gives several tensors at once: take one of them, or unpack them."
    pairs = [one.name for one in raised.operands if one.words.startswith("[")]
    name = pairs[0] if len(pairs) == 1 else f"x.{function}(dim=...)"
    return (
        f"{function} along an axis gives two tensors, values and indices: take {name}.values, or "
        "unpack the two."
    )


def _uncalled(_: re.Match[str], raised: Raised) -> str:
    functions = [one.name for one in raised.operands if one.words.startswith("the function ")]
    which = f"{functions[0]} is" if functions else "Something there is"
    return (
        f"{which} a function that was not called: round brackets after it call it (a @property "
        "needs none)."
    )


def _not_callable(match: re.Match[str], raised: Raised) -> str:
    if raised.culprit is not None and raised.culprit.source.startswith("def "):
        return f"Calling an object of class {match[1]} takes a method __call__ in a plain class."
    return (
        f"Round brackets after a {match[1]} call it: should they be square, or is there an "
        "operator missing, or does the name hide a function?"
    )


NAMES: tuple[ExceptionKind, ...] = (
    kind(r"NameError: name '(\w+)' is not defined", _no_name, settles=True),
    kind(
        r"UnboundLocalError: cannot access local variable '(\w+)'",
        "{0} has no value there: it is set further down, or in a branch or loop that was not run, "
        "or was taken away again. A name that a function assigns is its own everywhere in it, and "
        "hides one outside.",
        settles=True,
    ),
    kind(r"torch\.return_types\.(\w+)|'return_types\.(\w+)'", _pair),
    kind(
        r"TypeError: (?!cannot pickle).*"
        r"'(?:method|function|builtin_function_or_method|method_descriptor)'",
        _uncalled,
    ),
    kind(
        r"descriptor '__init__' requires a 'super' object",
        "super itself is called as well: super().__init__(...).",
        settles=True,
    ),
    kind(
        r"TypeError: (\w+)\(\) takes no arguments$",
        "{0} has no __init__ of its own that takes any: that is its name, with two underscores on "
        "each side.",
    ),
    kind(
        r"can only concatenate (\w+) \(not \"(\w+)\"\) to",
        "A {0} and a {1} cannot be put together with +: make both of one type.",
        settles=True,
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
        _not_callable,
    ),
)
