"""Names of files and sizes, fit to print."""

from __future__ import annotations

import re

from grader.intake.copying.limits import CODE, MIB, PYTHON

_LONGEST = 120  # characters of one name in a sentence


def printable(name: str) -> str:
    """Returns the name with control characters and invalid UTF-8 escaped."""
    if name.isprintable():
        return name
    return "".join(char if char.isprintable() else _escaped(char) for char in name)


def name_as_written(name: str) -> str:
    """Returns a file's name without a browser's additions, with the suffix in lower case."""
    for suffix in sorted(CODE, key=len, reverse=True):
        if name.lower().endswith(suffix) and len(name) > len(suffix):
            return f"{name[: -len(suffix)]}{'.py' if suffix in PYTHON else '.ipynb'}"
    return name


def shortened(name: str) -> str:
    """Returns the name, printable, its middle cut out if it is very long."""
    text = printable(name)
    half = _LONGEST // 2
    return text if len(text) <= _LONGEST else f"{text[:half]}…{text[-half:]}"


def natural_order(name: str) -> tuple[tuple[int, int, str], ...]:
    """Returns a sort key that puts `group2` before `group10`."""
    pieces = re.split(r"([0-9]+)", name)
    return tuple(map(_in_order, filter(None, pieces)))


def size_in_words(size: int) -> str:
    """Returns a number of bytes as people say it."""
    if size < 1024:
        return f"{size} bytes"
    return f"{size / 1024:.0f} kB" if size < MIB else f"{size / MIB:,.1f} MB".replace(".0 ", " ")


def several(names: list[str], count: int | None = None, shown: int = 5) -> str:
    """Returns the first few names, and how many more there are of `count` (default: of `names`)."""
    more = (len(names) if count is None else count) - len(names[:shown])
    text = ", ".join(shortened(name) for name in names[:shown])
    return f"{text} and {more} more" if more > 0 else text


def _in_order(piece: str) -> tuple[int, int, str]:
    """Returns a number by its digits, of which there may be more than Python makes a number of."""
    if not piece.isdecimal():
        return 1, 0, piece.casefold()
    digits = piece.lstrip("0")
    return 0, len(digits), digits


def _escaped(char: str) -> str:
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:  # how Python carries a byte that is no UTF-8
        return f"\\x{code - 0xDC00:02x}"
    return char.encode("unicode_escape").decode("ascii")
