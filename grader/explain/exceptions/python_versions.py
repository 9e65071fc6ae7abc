"""Recognises code that is written for another Python version than the grader's."""

from __future__ import annotations

import ast
import contextlib
import re
import sys
import warnings
from collections.abc import Iterator

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
_PREFIX = re.compile(r"(?<![\w\"'])[a-zA-Z]{1,2}$")
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


def wanted_python(raised: Raised) -> str:
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
    strings = list(_strings(source))
    formatted = [text for prefix, text in strings if "f" in prefix and not _parses(f"f{text}")]
    # An f-string may parse only without inner strings that have its quotes.
    if any(_parses(f"f{_rewritten(text, 0)[1]}") for text in formatted):
        return 3, 12
    caught = _EXCEPT.match(source)
    # In Python 2, the second name is a variable, and not the name of a class.
    names = caught[1].split(",") if caught else []
    if names and all(one.strip().rpartition(".")[2][:1].isupper() for one in names):
        return 3, 14
    if any(prefix in ("t", "rt", "tr") and _parses(f"f{text}") for prefix, text in strings):
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


def _strings(source: str) -> Iterator[tuple[str, str]]:
    """Yields the strings in a line: the prefix in lower case, and the quoted text."""
    place = 0
    while place < len(source) and source[place] != "#":
        length = 1
        if source[place] in "\"'":
            found = _PREFIX.search(source[:place])
            prefix = found[0].lower() if found else ""
            is_formatted = "f" in prefix or "t" in prefix
            length = _rewritten(source[place:], 0)[0] if is_formatted else _plain(source[place:])
            if not length:
                return
            yield prefix, source[place : place + length]
        place += length


def _rewritten(text: str, depth: int) -> tuple[int, str]:
    """Returns the length of an f-string, and the string with a name for each inner string.

    The length is 0 if the string does not end.
    """
    quote, place = text[:1], 1
    if depth > 4 or text.startswith(quote * 3) or not quote:
        return 0, ""
    made = [quote]
    while place < len(text):
        letter = text[place]
        if letter == "\\":
            made.append(text[place : place + 2])
            place += 2
        elif letter == quote:
            return place + 1, "".join([*made, quote])
        elif text[place : place + 2] in ("{{", "}}"):
            made.append(text[place : place + 2])
            place += 2
        elif letter == "{":
            length, inner = _field(text[place:], depth)
            if not length:
                return 0, ""
            made.append(inner)
            place += length
        else:
            made.append(letter)
            place += 1
    return 0, ""


def _field(text: str, depth: int) -> tuple[int, str]:
    """Returns the length of a field in braces, and the field with a name for each string."""
    place, brackets, made = 1, 1, ["{"]
    while place < len(text):
        letter = text[place]
        if letter in "\"'":
            is_formatted = bool(made) and made[-1] in ("f", "F")
            length = (
                _rewritten(text[place:], depth + 1)[0] if is_formatted else _plain(text[place:])
            )
            if not length:
                return 0, ""
            made += ["()" if is_formatted else "_"]
            place += length
            continue
        brackets += (letter in "([{") - (letter in ")]}")
        made.append(letter)
        place += 1
        if not brackets:
            return place, "".join(made)
    return 0, ""


def _plain(text: str) -> int:
    """Returns the length of the plain string at the start of a text, or 0 if it does not end."""
    found = re.match(r"""(["'])(?:\\.|(?!\1).)*\1""", text)
    return 0 if found is None else found.end()


def _parses(source: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with contextlib.suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            ast.parse(source)
            return True
    return False
