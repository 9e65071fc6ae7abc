"""Finds the known name that a misspelt one is meant for."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable

# Of a name's own letters, those that may be wrong.
_MOST_WRONG = 0.4


def nearest(name: str, known: Iterable[str]) -> str:
    """Returns the known name that takes the fewest slips to become this one.

    A slip is a letter too many, too few, another one, or two exchanged. A beginning that all names
    share tells nothing, and does not count. Returns "" if none is near.
    """
    names = [*known]
    found, fewest = "", len(name) + 1
    shared = _shared_beginning([name, *names])
    for one in names:
        own, other = name[shared:].casefold(), one[shared:].casefold()
        most = min(max(1, int(_MOST_WRONG * max(len(own), len(other)))), fewest - 1)
        if abs(len(own) - len(other)) <= most and (count := _slips(own, other)) <= most:
            found, fewest = one, count
    return found


def _shared_beginning(names: Collection[str]) -> int:
    """Returns the length of the beginning that all names share, up to an underscore."""
    first, last = min(names), max(names)
    same = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))
    return "".join(letter for letter, _ in same).rfind("_") + 1


def _slips(one: str, other: str) -> int:
    """Counts the slips between two names (optimal string alignment)."""
    earlier: list[int] = []
    last: list[int] = [*range(len(other) + 1)]
    for row, letter in enumerate(one, 1):
        now: list[int] = [row]
        for column, wanted in enumerate(other, 1):
            least = min(last[column] + 1, now[-1] + 1, last[column - 1] + (letter != wanted))
            is_exchanged = (
                row > 1 and column > 1 and letter == other[column - 2] and wanted == one[row - 2]
            )
            now.append(min(least, earlier[column - 2] + 1) if is_exchanged else least)
        earlier, last = last, now
    return last[-1]
