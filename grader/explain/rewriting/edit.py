"""An edit: a small change of a program's text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Replacement:
    """What stands from `start` to `end`, in characters of the source, becomes `text`."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Edit:
    """One small change that keeps a program well formed.

    `line` is where the changed expression stands and `lines` are all that change, counted from 1;
    `cost` is small for a likely slip and a small change; `subject` says to a student what is
    changed, and never into what. `function` is the qualified name of the function whose body is
    changed, None outside of all.
    """

    kind: str
    line: int
    lines: tuple[int, ...]
    cost: float
    replacements: tuple[Replacement, ...]
    subject: str
    function: str | None

    def applied(self, source: str) -> str:
        """The program after the edit."""
        return replaced(source, self.replacements)


def replaced(source: str, replacements: Iterable[Replacement], offset: int = 0) -> str:
    """A text whose first character is the source's at `offset`, with replacements made in order."""
    parts = []
    done = 0
    for one in replacements:
        parts += [source[done : one.start - offset], one.text]
        done = one.end - offset
    return "".join([*parts, source[done:]])
