"""Words that were found for a program, told again of one that differs in comments only."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace

from grader.core.evidence import Repair
from grader.core.plain_text import plain
from grader.core.verdict import Where
from grader.core.words import Told, Words
from grader.explain.explainer.program import SubmissionProgram

_MOST_REMEMBERED = 128
# How what a submission printed is marked in a message.
_PRINTED = "    | "
# What else may name a line: a warning, a traceback that was printed.
_OTHER_PLACE = re.compile(r"\bline\s*\d|\.py\W{1,3}\d")


class ExplanationCache:
    """The latest words of a class, each with the program that they were found for."""

    def __init__(self) -> None:
        self._told: OrderedDict[Hashable, tuple[SubmissionProgram, Words]] = OrderedDict()

    def words(self, verdicts: Hashable, program: SubmissionProgram) -> Words | None:
        """What was said of the same code with the same verdicts, at the lines where it stands here.

        Nothing if none is known, or if it quotes what is not the same here.
        """
        known = self._told.get((verdicts, program.likeness))
        if known is None:
            return None
        try:
            return _Moving(known[0], program).words(known[1])
        except _NotTheSame:
            return None

    def learn(self, verdicts: Hashable, program: SubmissionProgram, words: Words) -> None:
        """Remembers words; of many the latest."""
        self._told[verdicts, program.likeness] = program, words
        while len(self._told) > _MOST_REMEMBERED:
            self._told.popitem(last=False)


class _NotTheSame(Exception):
    """Words are about something that differs from one program to the other."""


@dataclass(frozen=True, slots=True)
class _Moving:
    """Moves words from one program to another of the same likeness."""

    old: SubmissionProgram
    new: SubmissionProgram

    def words(self, words: Words) -> Words:
        """All of them.

        Raises:
            _NotTheSame: if they name a line that cannot be followed.
        """
        evidence = words.evidence
        _require_placeless(evidence.printed)
        mendings = tuple(map(self._mending, evidence.mendings))
        return replace(
            words,
            tests={test: self._told(told) for test, told in words.tests.items()},
            evidence=replace(evidence, excerpts=(), mendings=mendings),
        )

    def _told(self, told: Told) -> Told:
        where = told.where
        if where is not None:
            where = Where(where.file, self._line(where.file, where.line), where.step)
        lines = [*self._lines(told.message.split("\n"))]
        return told._replace(message="\n".join(lines), where=where)

    def _lines(self, lines: list[str]) -> Iterator[str]:
        names = "|".join(re.escape(plain(name)) for name in self.old.files)
        place = re.compile(rf"(?<![\w/.])({names}), line (\d+)")
        for line in lines:
            # Of an even number are the pieces between the places.
            pieces = place.split(line) if names else [line]
            _require_placeless("\0".join(pieces[::3]))
            if len(pieces) > 1 and line.startswith(_PRINTED):
                raise _NotTheSame
            for start in range(1, len(pieces), 3):
                number = self._line(pieces[start], int(pieces[start + 1]))
                pieces[start + 1] = f", line {number}"
            yield "".join(pieces)

    def _mending(self, mending: Repair) -> Repair:
        """Where, and for what; it took nothing."""
        places = tuple((file, self._line(file, line)) for file, line in mending.places)
        return Repair(mending.exercises, places, edits=0, calls=0, seconds=0.0)

    def _line(self, file: str, line: int) -> int:
        number = self.old.counterpart(file, line, self.new)
        if number is None:
            raise _NotTheSame
        return number


def _require_placeless(text: str) -> None:
    if _OTHER_PLACE.search(text):
        raise _NotTheSame
