"""Names of files and submissions as people read them: printable, short, in natural order."""

from __future__ import annotations

import re

_LONGEST = 120  # characters of one name in a sentence


def printable(name: str) -> str:
    """Returns the name with control characters and invalid UTF-8 escaped."""
    if name.isprintable():
        return name
    return "".join(char if char.isprintable() else _escaped(char) for char in name)


def shortened(name: str) -> str:
    """Returns the printable name, without its middle if it is very long."""
    text = printable(name)
    half = _LONGEST // 2
    return text if len(text) <= _LONGEST else f"{text[:half]}…{text[-half:]}"


def natural_order(name: str) -> tuple[tuple[int, int, str], ...]:
    """Returns a sort key that puts `group2` before `group10`."""
    pieces = re.split(r"([0-9]+)", name)
    return tuple(map(_in_order, filter(None, pieces)))


def several(names: list[str], count: int | None = None, shown: int = 5) -> str:
    """Returns the first few names, and how many more there are of `count` (default: of `names`)."""
    more = (len(names) if count is None else count) - len(names[:shown])
    text = ", ".join(shortened(name) for name in names[:shown])
    return f"{text} and {more} more" if more > 0 else text


def _in_order(piece: str) -> tuple[int, int, str]:
    """Returns a sort key; a number sorts by its digits, which may be too many for `int()`."""
    if not piece.isdecimal():
        return 1, 0, piece.casefold()
    digits = piece.lstrip("0")
    return 0, len(digits), digits


def _escaped(char: str) -> str:
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:  # how Python carries a byte that is not UTF-8
        return f"\\x{code - 0xDC00:02x}"
    return char.encode("unicode_escape").decode("ascii")
