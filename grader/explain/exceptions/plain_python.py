"""Kinds of exceptions of plain Python: names, imports, files, calls, exits, recursion."""

from __future__ import annotations

import importlib.metadata
import re
import sys

from grader.core.names import KNOWN_PACKAGES
from grader.core.wire.calls import Raised
from grader.explain.exceptions.kinds import ExceptionKind, Explanation, kind

# Names that are often used without their import.
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


def _no_value(match: re.Match[str], raised: Raised) -> str:
    said = (
        f"{match[1]} has no value here. A name that a function assigns is local in the whole "
        "function, and hides the same name outside."
    )
    meant = _meant(raised)
    return f"{said} {meant}" if meant else said


def _meant(raised: Raised) -> str | None:
    return f"Did you mean {raised.suggestion}?" if raised.suggestion else None


def _no_module(match: re.Match[str], _: Raised) -> str | None:
    name = match[1]
    top, _dot, inner = name.partition(".")
    is_python = top in sys.stdlib_module_names
    if is_python or top in importlib.metadata.packages_distributions():  # Python's words suffice
        return None
    if top in KNOWN_PACKAGES and not inner:
        return f"The package {top} is not installed here; the assignment does without it."
    if inner:
        return f"Your own {top} is here, and has no {name}: was a file left out, or renamed?"
    return (
        f"Imports find neither a file {top}.py nor an installed package of that name. A file in a "
        f"folder is imported as folder.{top}."
    )


def _exit(match: re.Match[str], _: Raised) -> Explanation:
    text = "" if match[1] in ("None", "0") else match[1].strip()
    message = "the program was ended" + (f" with {text[:200]}" if text else "")
    return Explanation(
        "sys.exit(), exit() and quit() end the whole program, and so does argparse on wrong "
        "arguments: return a value or raise an exception instead.",
        message,
    )


def _recursion(_: re.Match[str], raised: Raised) -> str | None:
    if len(set(raised.frames)) == len(raised.frames):  # a library recursed, or the compiler
        return None
    functions = [frame.function for frame in raised.frames]
    if len(functions) > 2 and len(set(functions[-3:])) == 1:
        return f"{functions[-1]} calls itself too deeply for Python, perhaps without end."
    return "Functions call each other too deeply for Python, perhaps without end."


NAMES: tuple[ExceptionKind, ...] = (
    kind(r"ModuleNotFoundError: No module named '([\w.]+)'", _no_module),
    kind(
        r"ImportError: cannot import name '(\w+)' from '([\w.]+)'",
        "{1} has no {0}: does it have another name there, or is that an older file?",
    ),
    # Messages shorten the path of a temporary file to `scratch/…`, although it was absolute.
    kind(
        r"FileNotFoundError: .*No such file or directory: '(?![/…]|scratch/)([^'\n]{1,200})'",
        "There is no {0} here: a relative path starts at the top folder of your submission.",
    ),
    kind(r"NameError: name '(\w+)' is not defined", _no_name, settles=True),
    kind(r"UnboundLocalError: cannot access local variable '(\w+)'", _no_value, settles=True),
    kind(
        r"return_types\.(\w+)",
        "{0} gives several tensors at once, as max along an axis gives values and indices: take "
        "one of them (.values), or unpack them.",
    ),
    kind(
        r"TypeError: (?!cannot pickle).*"
        r"'(?:method|function|builtin_function_or_method|method_descriptor)'",
        "Something there is a function that was not called: round brackets after its name call it "
        "(a @property needs none).",
    ),
    kind(
        r"AttributeError: 'NoneType' object|TypeError: .*(?:'NoneType'|not NoneType)",
        "Something there is None: an argument that was left out, say, or what a function without a "
        "return gives.",
    ),
    kind(r"AttributeError: .*has no attribute", lambda _, raised: _meant(raised)),
    kind(
        r"(?:Boolean|bool) value of Tensor with (?:more than one|no) value",
        "Only a tensor of one number is true or false. To combine booleans, write & | ~ for and, "
        "or, not. To ask whether something was given, write is None.",
    ),
    kind(
        r"TypeError: '(\w+)' object is not callable",
        "Round brackets call what stands before them, here a value of type {0}. Should they be "
        "square, is an operator missing, or does the name hide a function?",
    ),
    kind(r"^SystemExit: (.*)", _exit),
    kind(
        r"^BdbQuit: ",
        "Nobody is there to type into a debugger: leave breakpoint() out of what you hand in.",
    ),
    kind(
        r"^EOFError: EOF when reading a line|^OSError: pytest: reading from stdin",
        "Nobody is there to type: input() cannot be answered.",
    ),
    kind(r"^RecursionError: ", _recursion),
)
