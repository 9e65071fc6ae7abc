"""Cells of a spreadsheet: numbers with a decimal point or comma, and text that is no formula."""

from __future__ import annotations

import re

from grader.core.text import points

_NUMBER = re.compile(r"-?[0-9]+(?:[.,][0-9]+)*")
_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def figure(number: float, decimal: str = ".") -> str:
    """Points with two decimals at most, as many as Canvas compares."""
    return points(number).replace(".", decimal)


def number_in(cell: str) -> float | None:
    """The number that a cell holds, read as Canvas reads it: the last `.` or `,` is the decimal."""
    text = cell.strip()
    if not _NUMBER.fullmatch(text):
        return None
    *whole, decimals = re.split("[.,]", text)
    return float(f"{''.join(whole)}.{decimals}" if whole else decimals)


def harmless(text: str) -> str:
    """Text that no spreadsheet takes for a formula, by a leading apostrophe; numbers are numbers.

    Control characters, which some readers stumble over, are dropped; line breaks and tabs stay.
    """
    text = _CONTROL.sub("", text)
    risky = text[:1] in {"\t", "\r", "\n"} or text.lstrip().startswith(_FORMULA)
    return f"'{text}" if risky and not _NUMBER.fullmatch(text) else text
