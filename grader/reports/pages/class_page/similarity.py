"""An order of submissions in which those that fail alike stand together."""

from __future__ import annotations

from collections.abc import Sequence

# The walk takes time with the square of this.
_BLOCK = 4096


def by_similarity(patterns: Sequence[str], right: str) -> list[int]:
    """The places of submissions in such an order, given a letter for each of a submission's tests.

    It begins with who fails least, and goes on to the one nearest to the last each time. Near is
    who fails the same tests: those whose letters are not among `right`.
    """
    places: dict[int, list[int]] = {}
    for place, pattern in enumerate(patterns):
        places.setdefault(_failing(pattern, right), []).append(place)
    bits = sorted(places, key=lambda failing: (failing.bit_count(), failing))
    ordered: list[int] = []
    for first in range(0, len(bits), _BLOCK):
        for failing in _walk(bits[first : first + _BLOCK]):
            ordered += places[failing]
    return ordered


def _failing(pattern: str, right: str) -> int:
    """A number with a bit for each test that is not right."""
    return int("1" + "".join("0" if letter in right else "1" for letter in pattern), 2)


def _walk(bits: Sequence[int]) -> list[int]:
    """The numbers from the first to the one with fewest other bits that is left, and so on."""
    here, *left = bits
    order = [here]
    while left:
        distances = [(here ^ other).bit_count() for other in left]
        here = left.pop(distances.index(min(distances)))
        order.append(here)
    return order
