"""A failure as a student reads it: a short paragraph."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from _pytest._code.code import ReprFileLocation, TerminalRepr
from _pytest._io import TerminalWriter

from grader.core.causes import FailedTest


@dataclass(eq=False)
class Failure(TerminalRepr):
    """The failure of a test, for `longrepr`: its subject, what was wrong and, if known, why.

    `more` follows the text of `said`; `line`, the line to change, comes last. `builds_on` are other
    exercises that are wrong. `search` is a sentence on how the search for a line ended.
    """

    about: str
    said: FailedTest
    location: tuple[str, int]
    more: list[str] = field(default_factory=list)
    line: str = ""
    builds_on: list[str] = field(default_factory=list)
    search: str = ""

    @property
    def reprcrash(self) -> ReprFileLocation:
        """Returns the sentence that pytest shows in its summary and in JUnit's XML."""
        return ReprFileLocation(*self.location, self.said.in_short)

    def lines(self) -> Iterator[str]:
        """Yields the lines of the paragraph, without the test's subject."""
        message, *rest = self.account()
        yield message
        mistake = self.said.mistake
        if mistake is not None:
            yield mistake.explanation
            yield f"Hint: {mistake.hint}"
        elif self.said.advice:
            yield self.said.advice
        yield from rest
        yield from self.line.splitlines()

    def account(self) -> Iterator[str]:
        """Yields the message and its evidence, without the mistake and the line to change."""
        for text in (self.said.message, *self.more):
            yield from text.splitlines()

    def toterminal(self, tw: TerminalWriter) -> None:
        """Writes the paragraph."""
        if self.about:
            tw.line(self.about, bold=True)
        for line in self.lines():
            tw.line(line)
