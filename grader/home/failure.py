"""A failure as a student reads it: a short paragraph, never a traceback."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from dataclasses import dataclass, field

from _pytest._code.code import ReprFileLocation, TerminalRepr
from _pytest._io import TerminalWriter

from grader.core.causes import FailedTest
from grader.core.verdict import Aspect, Diagnosis, Status


@dataclass(eq=False)
class Failure(TerminalRepr):
    """What a test is about, what was wrong, and why, as far as that is known; for `longrepr`.

    `more` follows what `said` tells, and at last the `line` to change; the exercise `builds_on`
    others that are wrong; `was_hurried` is whether there was no time to look for more.
    """

    about: str
    said: FailedTest
    location: tuple[str, int]
    more: list[str] = field(default_factory=list)
    line: str = ""
    builds_on: list[str] = field(default_factory=list)
    drawing: list[str] = field(default_factory=list)
    was_hurried: bool = False

    @property
    def reprcrash(self) -> ReprFileLocation:
        """What pytest shows of it in its summary and in JUnit's XML: the sentence for a person."""
        return ReprFileLocation(*self.location, self.said.in_short)

    def lines(self) -> Iterator[str]:
        """The paragraph, without what the test is about."""
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
        """What was wrong, and what follows: no mistake, and no line to change."""
        for text in (self.said.message, *self.more):
            yield from text.splitlines()
        for line in self.drawing:
            yield f"    {line}"

    def toterminal(self, tw: TerminalWriter) -> None:
        """Writes the paragraph."""
        if self.about:
            tw.line(self.about, bold=True)
        for line in self.lines():
            tw.line(line)

    def as_json(self) -> str:
        """The failure as text, to cross from one process to another."""
        fields = {each.name: getattr(self, each.name) for each in dataclasses.fields(self)}
        return json.dumps(fields | {"said": dataclasses.asdict(self.said)})

    @classmethod
    def from_json(cls, text: str) -> Failure:
        """The failure that `as_json` wrote."""
        fields = json.loads(text)
        said = fields.pop("said")
        said |= {"status": Status(said["status"]), "aspect": Aspect(said["aspect"])}
        said["places"] = tuple((file, line) for file, line in said["places"])
        said["mistake"] = Diagnosis(**said["mistake"]) if said["mistake"] else None
        path, line = fields.pop("location")
        return cls(said=FailedTest(**said), location=(path, line), **fields)
