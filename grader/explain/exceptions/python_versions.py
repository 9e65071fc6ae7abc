"""Recognises code that is written for another Python version than the grader's."""

from __future__ import annotations

import ast
import contextlib
import re
import sys
import warnings

from grader.core.wire.calls import Raised
from grader.explain.exceptions.kinds import source_of

Version = tuple[int, int]

_TYPE_PARAMETERS = re.compile(r"^((?:async\s+)?(?:def|class)\s+\w+)\s*\[([^\]]*)\](.*)$")
_TYPE_ALIAS = re.compile(r"^type\s+(\w+)\s*(?:\[([^\]]*)\])?\s*=(.*)$")
_EXCEPT = re.compile(r"^except\*?\s+([\w.]+(?:\s*,\s*[\w.]+)+)\s*:")
# Python 2 code. `except A, B:` with two names of classes is Python 3.14 instead.
_PYTHON_2 = re.compile(
    r"^except\s+(?:\([\w., ]+\)|[\w.]+)\s*,\s*[a-z_]\w*\s*:|^raise\s+\w+\s*,\s*[\"'\w]"
)
# The prefix of an f-string or a t-string, another string, or a comment.
_TOKEN = re.compile(
    r"""(?<![\w"'])[rR]?(?P<kind>[fFtT])[rR]?(?=["'])|(["'])(?:\\.|(?!\2).)*\2|#.*"""
)
_FIELD = re.compile(r"\{([^{}]*)\}")
_MOST_QUOTES = 20
# Newer names of the standard library, and the version that added each.
_NAMES: dict[tuple[str, str], Version] = {
    ("typing", "override"): (3, 12),
    ("typing", "TypeAliasType"): (3, 12),
    ("typing", "get_protocol_members"): (3, 13),
    ("typing", "NoDefault"): (3, 13),
    ("typing", "ReadOnly"): (3, 13),
    ("typing", "TypeIs"): (3, 13),
    ("itertools", "batched"): (3, 12),
    ("collections.abc", "Buffer"): (3, 12),
    ("warnings", "deprecated"): (3, 13),
    ("copy", "replace"): (3, 13),
}
_IMPORT = re.compile(r"cannot import name '(\w+)' from '([\w.]+)'")


def needed_python(raised: Raised) -> str:
    """Returns the Python version that the code needs, or "" if this one may suffice."""
    if raised.kind != "SyntaxError":
        match = _IMPORT.search(raised.message)
        needed = _NAMES.get((match[2], match[1])) if match else None
    elif _PYTHON_2.search(source_of(raised).strip()):
        return "Python 2"
    else:
        needed = _by_syntax(raised)
    if needed is None or needed <= sys.version_info[:2]:
        return ""
    return f"Python {needed[0]}.{needed[1]} or newer"


def _by_syntax(raised: Raised) -> Version | None:
    """Returns the first Python version that accepts the line, or None if that is not known.

    This Python must accept the new syntax once it is replaced.
    """
    source = source_of(raised).strip()
    if "f-string expression part cannot include a backslash" in raised.message:
        return 3, 12
    by_strings = _of_strings(source)
    if by_strings is not None:
        return by_strings
    caught = _EXCEPT.match(source)
    # In Python 2, the second name is a variable, and not the name of a class.
    names = caught[1].split(",") if caught else []
    if names and all(one.strip().rpartition(".")[2][:1].isupper() for one in names):
        return 3, 14
    return (3, 12) if _has_type_parameters(source) else None


def _has_type_parameters(source: str) -> bool:
    """Returns whether a definition or an alias parses once its type parameters are removed."""
    alias = _TYPE_ALIAS.match(source)
    if alias is not None:
        return _parses(f"{alias[1]} ={alias[3]}") and _are_parameters(alias[2] or "T")
    found = _TYPE_PARAMETERS.match(source)
    if found is None or not _are_parameters(found[2]):
        return False
    # If the parameters span several lines, only the first line is known.
    rest = found[3] if ":" in found[3] or ")" in found[3] else "():"
    is_class = "class" in found[1].split()
    body = "" if not rest.rstrip().endswith(":") else " pass"
    return (is_class or rest.lstrip().startswith("(")) and _parses(f"{found[1]}{rest}{body}")


def _are_parameters(names: str) -> bool:
    """Returns whether names look like type parameters: `T`, `T: int`, `*Ts`, `**P`.

    A longer name may be a slip instead.
    """
    form = r"\s*(?:[A-Za-z_]\w?|\*{1,2}\w+|\w+\s*:.*)\s*"
    return all(re.fullmatch(form, one) for one in names.split(","))


def _of_strings(source: str) -> Version | None:
    """Returns the first Python version that accepts a line's strings, or None if this one may."""
    for found in _TOKEN.finditer(source):
        if not found["kind"]:
            continue
        start = found.end()
        ends = [one.end() for one in re.finditer(source[start], source) if one.start() > start]
        texts = [f"f{source[start:end]}" for end in ends[:_MOST_QUOTES]]
        text = next((one for one in texts if _parses(one) or _parses(_swapped(one))), None)
        if text is not None and found["kind"] in "tT":
            return 3, 14
        if text is not None and not _parses(text):
            return 3, 12
    return None


def _swapped(text: str) -> str:
    """Returns an f-string with the other kind of quotes in its fields."""
    swap = str.maketrans("\"'", "'\"")
    # Inner fields first, then those around them. Doubled braces are swapped twice, so not at all.
    for _ in range(2):
        text = _FIELD.sub(lambda field: f"\0{field[1].translate(swap)}\1", text)
    return text.replace("\0", "{").replace("\1", "}")


def _parses(source: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with contextlib.suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            ast.parse(source)
            return True
    return False
