"""Tensors as a page holds them, for its script to draw."""

from __future__ import annotations

import array
import base64
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from grader.core.evidence import Picture
from grader.core.text import one_line
from grader.reports.pages.rendering import as_json

# What a page has room for: a class of thousands must fit on a disk, and a page in a mail.
_NUMBERS = 3072
_EACH = 3


@dataclass(frozen=True, slots=True)
class Drawing:
    """A picture on a page: its caption, and its data as JSON for a script element."""

    caption: str
    shape: str
    data: Markup


class Album:
    """The pictures of one submission that its page has room for."""

    def __init__(self, pictures: Iterable[Picture], public: frozenset[str]) -> None:
        """Pictures of tests that are not among `public` are passed over, whoever made them."""
        self._pictures = {p.test: p for p in pictures if p.test in public and _is_sound(p)}
        self._room = _NUMBERS

    def of(self, tests: Sequence[str]) -> tuple[Drawing, ...]:
        """The pictures of a few of the tests, which are then no longer there."""
        found: list[Drawing] = []
        for test in tests:
            picture = self._pictures.get(test)
            if picture is None or len(found) == _EACH or len(picture.got) > self._room:
                continue
            del self._pictures[test]
            self._room -= len(picture.got)
            found.append(_drawing(picture))
        return tuple(found)


def _is_sound(picture: Picture) -> bool:
    count = 1
    for size in picture.shape:
        count *= size
    return count == len(picture.expected) == len(picture.got) > 0


def _drawing(picture: Picture) -> Drawing:
    names = [one_line(name, 60) or f"axis {place}" for place, name in enumerate(picture.axes)]
    names += [f"axis {place}" for place in range(len(names), len(picture.shape))]
    data = {
        "axes": names[: len(picture.shape)],
        "shape": picture.shape,
        "expected": _packed(picture.expected),
        "got": _packed(picture.got),
    }
    shape = " × ".join(map(str, picture.shape)) or "one number"
    test = one_line(picture.test.partition("::")[2] or picture.test, 120)
    return Drawing(f"{test}: {one_line(picture.what, 120)}", shape, as_json(data))


def _packed(numbers: Sequence[float]) -> str:
    """The numbers as little-endian float32 in base64; one beyond its range becomes infinite."""
    packed = array.array("f", numbers)
    if sys.byteorder == "big":
        packed.byteswap()
    return base64.b64encode(packed.tobytes()).decode()
