"""Explains calls whose arguments a function does not take."""

from __future__ import annotations

import re

from grader.explaining.exceptions.kinds import Kind, kind, names_in_words
from grader.wire.calls import Raised

_NAME = re.compile(r"'(\w+)'|\"(\w+)\"")


def _unexpected(match: re.Match[str], raised: Raised) -> str:
    return _sentence(raised, f"{match[1]} has no parameter {match[2]}", f"with {match[2]}")


def _missing(match: re.Match[str], raised: Raised) -> str:
    names = [one or other for one, other in _NAME.findall(match[2])] or [match[2][:100]]
    lacking = names_in_words(names)
    return _sentence(raised, f"{match[1]} also needs {lacking}", f"without {lacking}")


def _too_many(match: re.Match[str], raised: Raised) -> str:
    return _sentence(raised, f"{match[1]} was given more than it takes", "with another number")


def _twice(match: re.Match[str], raised: Raised) -> str:
    said = f"{match[1]} is given {match[2]} twice, by its place and by its name"
    return _sentence(raised, said, "")


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


ARGUMENTS: tuple[Kind, ...] = (
    kind(r"TypeError: (\S+)\(\) got an unexpected keyword argument '(\w+)'", _unexpected),
    kind(
        r"TypeError: (\S+)\(\) missing \d+ required (?:positional|keyword-only) arguments?: (.*)",
        _missing,
    ),
    kind(r"TypeError: (\S+)\(\) takes .* but \d+ (?:was|were) given", _too_many),
    kind(r"TypeError: (\S+)\(\) got multiple values for (?:keyword )?argument '(\w+)'", _twice),
    kind(
        r"TypeError: (\w+)\(\): argument '(\w+)' \(position \d+\) must be (.+?), not (\w+)",
        "torch's {0} wants a {2} there, and gets a {3}.",
    ),
)
