"""The explanation cache: programs that differ only in comments get the same words."""

from __future__ import annotations

import ast
import hashlib
import re
import warnings
from collections import OrderedDict
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from grader.core.evidence import Repair
from grader.core.explanation import Told, Words
from grader.core.text import plain, source_text
from grader.core.verdict import Where
from grader.explain.repair.sources import files_below, is_source
from grader.intake.open_folder import read_bounded

# In bytes; a syntax tree can take a thousand times as much memory as its source.
_MOST_CODE = 1 << 18
_MOST_BYTES = 16 << 20

_Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class CodeLines:
    """The lines of a file that hold code: their numbers, and their texts without indentation."""

    numbers: tuple[int, ...]
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SubmissionProgram:
    """The program of a submission: all its files.

    Two programs with the same `likeness` behave alike. They compile to the same code, except for
    docstrings and line numbers, and their other files are equal to the byte. In `files`, the n-th
    code line of one program corresponds to the n-th code line of the other.
    """

    likeness: bytes
    files: Mapping[str, CodeLines]

    @classmethod
    def below(cls, root: Path) -> SubmissionProgram | None:
        """Returns the program below a folder; None if it is too large or cannot be read."""
        digest = hashlib.sha256()
        files: dict[str, CodeLines] = {}
        code_left, bytes_left = _MOST_CODE, _MOST_BYTES
        for path in files_below(root):
            try:
                content = read_bounded(path, bytes_left + 1)
            except OSError:
                return None
            bytes_left -= len(content)
            code_left -= len(content) if is_source(path) else 0
            if min(bytes_left, code_left) < 0:
                return None
            name = path.relative_to(root).as_posix()
            form = _form_and_code(content) if is_source(path) else None
            if form is not None:
                content, files[name] = form
            title = f"{name}\0{form is None}\0{len(content)}\0"
            digest.update(title.encode("utf-8", "surrogatepass"))
            digest.update(content)
        return cls(digest.digest(), files)

    def counterpart(self, file: str, line: int, other: SubmissionProgram) -> int | None:
        """Returns the number of the same line in `other`, or None if its text differs.

        `other` must have the same likeness.
        """
        here, there = self.files.get(file), other.files.get(file)
        if here is None or there is None or line not in here.numbers:
            return None
        place = here.numbers.index(line)
        return there.numbers[place] if here.texts[place] == there.texts[place] else None


def _form_and_code(content: bytes) -> tuple[bytes, CodeLines] | None:
    """Returns a file's syntax, and its lines that hold code.

    Places in the syntax are counted in lines of code, so that comments do not move them. Returns
    None for text that this Python cannot parse. The source is decoded as for an import.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes warn: the import reports them
            tree = ast.parse(content)
        lines = source_text(content).split("\n")
        for node in ast.walk(tree):
            if isinstance(node, _Documented) and ast.get_docstring(node, clean=False) is not None:
                del node.body[0]
        nodes = [node for node in ast.walk(tree) if isinstance(node, ast.expr | ast.stmt)]
        numbers = sorted({number for node in nodes for number in _ends(node)})
        if numbers and numbers[-1] > len(lines):
            return None
        places = {number: place for place, number in enumerate(numbers)}
        spans = [tuple(places[number] for number in _ends(node)) for node in nodes]
        form = f"{ast.dump(tree)}\0{spans}".encode("utf-8", "surrogatepass")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    texts = tuple(lines[number - 1].strip() for number in numbers)
    return form, CodeLines(tuple(numbers), texts)


def _ends(node: ast.expr | ast.stmt) -> tuple[int, int]:
    return node.lineno, node.end_lineno or node.lineno


_MOST_REMEMBERED = 128
# Stands before a printed line of the submission in a message.
_PRINTED = "    | "
# Other text that may name a line: a warning or a printed traceback.
_OTHER_PLACE = re.compile(r"\blines?\s*\d|\.py\W{1,3}\d|/cell \d+:\d")


class ExplanationCache:
    """The latest words of a class, each with the program to which they belong."""

    def __init__(self) -> None:
        self._told: OrderedDict[Hashable, tuple[SubmissionProgram, Words]] = OrderedDict()

    def words(self, verdicts: Hashable, program: SubmissionProgram) -> Words | None:
        """Returns the earlier words for the same code and verdicts, moved to this program's lines.

        Returns None if no words are known, or if they quote text that differs here.
        """
        known = self._told.get((verdicts, program.likeness))
        if known is None:
            return None
        try:
            return _Moving(known[0], program).words(known[1])
        except _NotTheSame:
            return None

    def learn(self, verdicts: Hashable, program: SubmissionProgram, words: Words) -> None:
        """Remembers words, and forgets the oldest ones beyond a bound."""
        self._told[verdicts, program.likeness] = program, words
        while len(self._told) > _MOST_REMEMBERED:
            self._told.popitem(last=False)


class _NotTheSame(Exception):
    """The words quote something that differs between the two programs."""


@dataclass(frozen=True, slots=True)
class _Moving:
    """A move of words from one program to another of the same likeness."""

    old: SubmissionProgram
    new: SubmissionProgram

    def words(self, words: Words) -> Words:
        """Returns all words, moved to the new lines.

        Raises:
            _NotTheSame: if the words name a line that cannot be followed.
        """
        evidence = words.evidence
        _require_placeless(evidence.printed)
        repairs = tuple(map(self._repair, evidence.repairs))
        return replace(
            words,
            tests={test: self._told(told) for test, told in words.tests.items()},
            evidence=replace(evidence, excerpts=(), repairs=repairs),
        )

    def _told(self, told: Told) -> Told:
        where = told.where
        if where is not None:
            where = Where(where.file, self._line(where.file, where.line), where.step)
        lines = [*self._lines(told.message.split("\n"))]
        return told._replace(message="\n".join(lines), where=where)

    def _lines(self, lines: list[str]) -> Iterator[str]:
        names = "|".join(re.escape(plain(name)) for name in self.old.files)
        place = re.compile(rf"(?<![\w/.])({names}):(\d+(?:(?:, \d+)* and \d+)?)")
        for line in lines:
            # Two groups, a file and its lines ("3 and 5"): each third piece is between places.
            pieces = place.split(line) if names else [line]
            _require_placeless("\0".join(pieces[::3]))
            if len(pieces) > 1 and line.startswith(_PRINTED):
                raise _NotTheSame
            for start in range(1, len(pieces), 3):
                pieces[start + 1] = f":{self._numbers(*pieces[start : start + 2])}"
            yield "".join(pieces)

    def _numbers(self, file: str, numbers: str) -> str:
        return re.sub(r"\d+", lambda found: str(self._line(file, int(found[0]))), numbers)

    def _repair(self, repair: Repair) -> Repair:
        """Returns the repair at the new lines, with its cost set to zero."""
        places = tuple((file, self._line(file, line)) for file, line in repair.places)
        return Repair(repair.exercises, places, edits=0, calls=0, seconds=0.0)

    def _line(self, file: str, line: int) -> int:
        number = self.old.counterpart(file, line, self.new)
        if number is None:
            raise _NotTheSame
        return number


def _require_placeless(text: str) -> None:
    if _OTHER_PLACE.search(text):
        raise _NotTheSame
