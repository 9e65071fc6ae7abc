"""How likely one name was meant by who wrote another."""

from __future__ import annotations

import functools
import re

# Words of which one is easily written for another.
_KIN = (
    ("q", "k", "v", "o"),
    ("query", "key", "value", "output", "out"),
    ("queries", "keys", "values"),
    ("cos", "sin"),
    ("cosine", "sine"),
    ("cosines", "sines"),
    ("even", "odd"),
    ("first", "second"),
    ("left", "right"),
    ("lower", "upper"),
    ("row", "col", "column"),
    ("rows", "cols", "columns"),
    ("i", "j"),
    ("a", "b"),
    ("x", "y"),
    ("in", "out"),
    ("real", "imag"),
    ("r", "i"),
    ("sum", "max", "mean"),
    ("min", "max"),
    ("start", "end", "stop"),
    ("model", "k", "v", "head", "heads", "in", "out", "ff"),
)
# In a word this short, as in `xr` and `yr`, one letter often stands for another word.
_SHORT = 2
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


@functools.lru_cache(maxsize=4096)
def words(name: str) -> tuple[str, ...]:
    """Returns the words of a name, in small letters: of `x1_proj` x, 1, proj."""
    return tuple(word.lower() for word in _WORD.findall(name.removeprefix("self.")))


@functools.lru_cache(maxsize=16384)
def kinship(one: str, other: str) -> int:
    """Returns 2 for names that differ in one word of a kin, 1 for a shared word, else 0."""
    ours, theirs = words(one), words(other)
    if len(ours) == len(theirs):
        different = [pair for pair in zip(ours, theirs, strict=True) if pair[0] != pair[1]]
        if len(different) <= 1 and all(_are_kin(*pair) for pair in different):
            return 2
    return 1 if set(ours) & set(theirs) else 0


def comes_first(one: str, other: str) -> bool:
    """Returns whether the first of two names that differ in one word usually comes first."""
    for own, their in zip(words(one), words(other), strict=False):
        for kin in _KIN:
            if own != their and own in kin and their in kin:
                return kin.index(own) < kin.index(their)
    return False


def kin_of(word: str) -> list[str]:
    """Returns the words of which one is easily written for another."""
    return [other for kin in _KIN if word in kin for other in kin if other != word]


def _are_kin(one: str, other: str) -> bool:
    if one.isdigit() and other.isdigit():
        return True
    if len(one) == len(other) == _SHORT:
        letters = [pair for pair in zip(one, other, strict=True) if pair[0] != pair[1]]
        return len(letters) == 1 and _are_kin(*letters[0])
    return any(one in kin and other in kin for kin in _KIN)
