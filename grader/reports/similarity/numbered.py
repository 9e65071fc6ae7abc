"""What compared submissions are called where nobody is to be named."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from grader.core.submission import Author
from grader.results.anonymous import Mask


class Numbered:
    """Calls the class's submissions by their numbers, and others by some that are drawn at random.

    The mask learns the names of these as well.
    """

    def __init__(self, mask: Mask) -> None:
        self._mask = mask
        self._drawn: set[str] = set()

    def __call__(self, name: str, people: Sequence[Author], origin: str) -> str:
        """What a submission of that name is called, given where it is from."""
        if not origin:
            return self._mask.labels[name]
        while (label := f"No. {secrets.randbelow(900_000) + 100_000}") in self._drawn:
            pass
        self._drawn.add(label)
        self._mask.add(name, people, label)
        return label
