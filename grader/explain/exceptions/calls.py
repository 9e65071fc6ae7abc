"""Kinds of exceptions of calls: arguments, autograd and modules."""

from __future__ import annotations

import math
import re

from grader.core.wire.calls import Raised
from grader.explain.exceptions.kinds import (
    ExceptionKind,
    dtype_name,
    kind,
    names_in_words,
)
from grader.testing.kinds import with_article

_ALONG_AN_AXIS = ("cat", "concat", "concatenate", "stack")
_OF_A_LIST = (*_ALONG_AN_AXIS, "hstack", "vstack", "dstack", "column_stack")
_NAME = re.compile(r"'(\w+)'|\"(\w+)\"")


def _unexpected(match: re.Match[str], raised: Raised) -> str:
    return _sentence(raised, f"{match[1]} has no parameter {match[2]}", f"with {match[2]}")


def _missing(match: re.Match[str], raised: Raised) -> str:
    names = [one or other for one, other in _NAME.findall(match[2])] or [match[2][:100]]
    lacking = names_in_words(names)
    return _sentence(raised, f"{match[1]} also needs {lacking}", f"without {lacking}")


def _too_many(match: re.Match[str], raised: Raised) -> str:
    name = match[1].rpartition(".")[2]
    if name in _OF_A_LIST and not raised.accepts:
        return _in_a_list(name)
    return _sentence(raised, f"{match[1]} was given more than it takes", "with another number")


def _in_a_list(name: str) -> str:
    axis = ", dim=-1" if name in _ALONG_AN_AXIS else ""
    return f"torch.{name} takes its tensors in one list or tuple: torch.{name}([a, b]{axis})."


_SIGNATURE = re.compile(r"\* \(([^()]*)\)")


def _no_combination(match: re.Match[str], _: Raised) -> str | None:
    """Returns the argument that a torch function lacks, if every signature names the same one."""
    got = match[2].split(", ")
    lacking: set[str] = set()
    for signature in _SIGNATURE.findall(match[3]):
        given, further = signature.split(", ")[: len(got)], signature.split(", ")[len(got) :]
        if [one.split()[0] for one in given] != got or not further or "=" in further[0]:
            return None
        lacking.add(further[0].rpartition(" ")[2])
    return f"{match[1]} also needs {lacking.pop()}." if len(lacking) == 1 else None


_IN_PLACE_OF_A_TENSOR = {
    "tuple": "does a function of yours return more than the one tensor?",
    "list": "torch.stack makes one tensor of several, torch.tensor one of numbers.",
    "numpy.ndarray": "torch.from_numpy makes a tensor of it, without a gradient.",
}
# A type as torch names it. `NAMES` explain None and a pair of values and indices, and the type of
# a stub says that its package is not installed.
_GOT = r"(?!NoneType|torch\.return_types|\S+ \(not installed\))([\w.]+)"


def _of_another_type(match: re.Match[str], _: Raised) -> str:
    """Returns the types that a torch function expects and gets, with advice on common cases."""
    name, wanted, got = match[1], match[3], match[4]
    first, second = with_article(wanted), with_article(got)
    said = f"torch's {name} expects {first} there, and gets {second}"
    if name in _OF_A_LIST and got == "Tensor":
        return _in_a_list(name)
    if got == "float" and "int" in wanted:
        return f"{said}: // divides whole numbers to a whole one, int(...) makes one of a float."
    if got in ("int", "float") and wanted == "Tensor" and hasattr(math, name):
        return f"{said}: of a plain number, math.{name} gives the same."
    if got in _IN_PLACE_OF_A_TENSOR and wanted == "Tensor":
        return f"{said}: {_IN_PLACE_OF_A_TENSOR[got]}"
    if got in ("method", "function", "builtin_function_or_method"):
        return f"{said}: round brackets after its name call it."
    return f"{said}."


def _sentence(raised: Raised, what: str, called: str) -> str:
    """Returns what is wrong with a call, with the parameters of the function, if known."""
    if not raised.accepts:
        return f"{what}."
    if raised.frames:
        return f"{what}: it is {raised.accepts}."
    return (
        f"The tests call it {called}, by the names of the parameters in the assignment's "
        f"adapters.py; yours is {raised.accepts}."
    )


ARGUMENTS: tuple[ExceptionKind, ...] = (
    kind(r"TypeError: (\S+)\(\) got an unexpected keyword argument '(\w+)'", _unexpected),
    kind(
        r"TypeError: (\S+)\(\) missing \d+ required (?:positional|keyword-only) arguments?: (.*)",
        _missing,
    ),
    kind(
        r"TypeError: (\S+)\(\) takes .* but \d+ (?:positional arguments? \(and .*?\) )?"
        r"(?:was|were) given",
        _too_many,
    ),
    kind(
        r"TypeError: (\w+)\(\): argument '(\w+)' \(position \d+\) must be (.+?), not " + _GOT,
        _of_another_type,
    ),
    kind(
        r"TypeError: (\w+)\(\) received an invalid combination of arguments - "
        r"got \(([^()]*)\), but expected one of:(.*)",
        _no_combination,
    ),
)


_INIT = (
    "super().__init__(...) was not called before: call it first in the __init__ of a class that "
    "is derived from one of torch's."
)
_MADE_BY_TORCH = (
    "parameters|buffers|modules|non_persistent_buffers_set|"
    r"(?:forward|backward|state_dict|load_state_dict|optimizer)_\w*hooks\w*"
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
    kind(r"cannot assign (?:module|parameters?) before Module\.__init__\(\) call", _INIT),
    kind(rf"has no attribute '_(?:{_MADE_BY_TORCH})'", _INIT),
    kind(
        r"cannot assign '[\w.]+' as parameter '(\w+)' \(torch\.nn\.Parameter or None expected\)",
        "{0} is a parameter, and only a parameter can take its place: wrap the tensor in "
        "torch.nn.Parameter(...), or copy its numbers with .copy_(...) under torch.no_grad().",
    ),
)
