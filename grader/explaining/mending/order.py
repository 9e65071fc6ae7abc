"""How orderly names stand in a line: queries before keys before values, cosines before sines."""

from __future__ import annotations

import re

# What is written in this order wherever nothing speaks against it.
_FAMILIES = (
    ("q", "k", "v", "o"),
    ("query", "key", "value", "output"),
    ("queries", "keys", "values", "outputs"),
    ("cos", "sin"),
    ("even", "odd"),
    ("first", "second"),
    ("real", "imag"),
    ("left", "right"),
)
_PLACES = {
    word: (number if number > 2 else 0, place)
    for number, family in enumerate(_FAMILIES)
    for place, word in enumerate(family)
}
_WORD = re.compile(r"[A-Za-z]+|\d+")
_NAME = re.compile(r"[^\W\d]\w*")


def disorder(line: str) -> int:
    """How often a name stands right after one of its family that it usually stands before."""
    count = 0
    last: dict[int, int] = {}
    for name in _NAME.findall(line):
        for family, place in _families_of(name).items():
            count += place < last.get(family, place)
            last[family] = place
    return count


def _families_of(name: str) -> dict[int, int]:
    """The families of a name's words, and its place in them."""
    words = [one.lower() for one in _WORD.findall(name.replace("_", " "))]
    found = [_PLACES[word] for word in words if word in _PLACES]
    return dict(found) if len(found) == 1 else {}
