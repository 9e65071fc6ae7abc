"""Explains calls whose arguments a function does not take."""

from __future__ import annotations

import math
import re

from grader.core.wire.calls import Raised
from grader.explain.exceptions.kinds import ExceptionKind, kind, names_in_words

_OF_A_LIST = ("cat", "stack", "concat", "hstack", "vstack")
_OF_SIZES = ("ones", "zeros", "empty", "rand", "randn")
_OF_TWO_AXES = ("transpose", "swapaxes")
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
        return f"torch.{name} takes its tensors in one list or tuple: torch.{name}([a, b], dim=-1)."
    if name in _OF_TWO_AXES and not raised.accepts:
        return f"{name} swaps two axes: .{name}(-2, -1); permute puts all of them in order."
    if name in _OF_SIZES and not raised.accepts:
        return f"torch.{name} takes whole numbers, or one tuple of them, and all else by name."
    return _sentence(raised, f"{match[1]} was given more than it takes", "with another number")


def _twice(match: re.Match[str], raised: Raised) -> str:
    said = f"{match[1]} is given {match[2]} twice, by its place and by its name"
    return _sentence(raised, said, "")


def _of_another_type(match: re.Match[str], _: Raised) -> str:
    """What a function of torch's wants and what it gets, and what to write, if that is plain."""
    name, wanted, got = match[1], match[3], match[4]
    said = f"torch's {name} wants a {wanted} there, and gets a {got}"
    if name in _OF_A_LIST and got == "Tensor":
        return f"torch.{name} takes its tensors in one list or tuple: torch.{name}([a, b], dim=-1)."
    if got == "float" and "int" in wanted:
        return f"{said}: // divides whole numbers to a whole one, int(...) makes one of a float."
    if got in ("int", "float") and wanted == "Tensor" and hasattr(math, name):
        return f"{said}: of a plain number, math.{name} gives the same."
    if got == "tuple" and wanted == "Tensor":
        return f"{said}: does a function of yours return more than the one tensor?"
    if got == "list" and wanted == "Tensor":
        return f"{said}: torch.stack makes one tensor of several, torch.tensor one of numbers."
    if got in ("method", "function", "builtin_function_or_method"):
        return f"{said}: round brackets after its name call it."
    return f"{said}."


def _sentence(raised: Raised, what: str, called: str) -> str:
    """What is wrong, and what the function accepts, if that is known."""
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
    kind(r"TypeError: (\S+)\(\) takes .* but \d+ (?:was|were) given", _too_many),
    kind(r"TypeError: (\S+)\(\) got multiple values for (?:keyword )?argument '(\w+)'", _twice),
    kind(
        r"TypeError: (\w+)\(\): argument '(\w+)' \(position \d+\) must be (.+?), not (\w+)",
        _of_another_type,
    ),
)
