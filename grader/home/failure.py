"""A failure as a student reads it: a short paragraph, never a traceback."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from _pytest._code.code import ReprFileLocation, TerminalRepr
from _pytest._io import TerminalWriter

_NUMBERS = re.compile(r"\d+")


@dataclass(eq=False)
class Failure(TerminalRepr):
    """What a test is about, what was wrong, and what is known beyond that; for `longrepr`.

    `reprcrash` is what pytest shows of it in its summary: the first line of what was wrong.
    `raised` is whether the student's code raised, at the line that the first line of it names.
    """

    about: str
    message: str
    reprcrash: ReprFileLocation
    raised: bool = False
    more: list[str] = field(default_factory=list)
    drawing: list[str] = field(default_factory=list)

    @property
    def likeness(self) -> str:
        """What failures that are told but once have in common: the first line, but for sizes."""
        return _NUMBERS.sub("#", self.message.partition("\n")[0])

    def shorten(self, first: str, own: str) -> None:
        """Leaves what the test `first` tells of the same line, unless that is its `own` name."""
        if self.raised and first != own:
            headline = self.message.partition("\n")[0]
            self.message = f"{headline}\nThe same as in {first}, see there."

    def toterminal(self, tw: TerminalWriter) -> None:
        """Writes the paragraph."""
        if self.about:
            tw.line(self.about, bold=True)
        for line in "\n".join([self.message, *self.more]).splitlines():
            tw.line(line)
        for line in self.drawing:
            tw.line(f"    {line}")
