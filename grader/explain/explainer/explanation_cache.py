"""The explanation cache: submissions with the same code and verdicts get the same words."""

from __future__ import annotations

import ast
import hashlib
import warnings
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import replace
from pathlib import Path

from grader.core.explanation import Words
from grader.intake.open_folder import read_bounded

_MOST_BYTES = 16 << 20
# Of all files together: a syntax tree can take a thousand times as many bytes as its code.
_MOST_CODE = 1 << 18
_MOST_REMEMBERED = 128


def digest_below(root: Path) -> bytes | None:
    """Returns a digest of all files below a folder; None if they are too large or unreadable.

    Lines of Python files that hold comments alone do not count, except within an expression.
    """
    digest = hashlib.sha256()
    left, code_left = _MOST_BYTES, _MOST_CODE
    for path in sorted(path for path in root.rglob("*") if path.is_file()):
        try:
            content = read_bounded(path, left + 1)
        except OSError:
            return None
        left -= len(content)
        if left < 0:
            return None
        if path.suffix == ".py" and len(content) <= code_left:
            code_left -= len(content)
            content = _without_comments(content)
        title = f"{path.relative_to(root).as_posix()}\0{len(content)}\0"
        digest.update(title.encode("utf-8", "surrogatepass"))
        digest.update(content)
    return digest.digest()


def _without_comments(content: bytes) -> bytes:
    """Returns a file with empty lines in place of comments, except those in an expression."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about escapes in the submission's strings
            nodes = [one for one in ast.walk(ast.parse(content)) if isinstance(one, ast.expr)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return content
    held = {line for one in nodes for line in range(one.lineno, (one.end_lineno or 0) + 1)}
    return b"\n".join(
        b"" if line.lstrip().startswith(b"#") and number not in held else line
        for number, line in enumerate(content.splitlines(), 1)
    )


class ExplanationCache:
    """The latest words of a class, each with the verdicts and the code to which they belong."""

    def __init__(self) -> None:
        self._told: OrderedDict[Hashable, Words] = OrderedDict()

    def words(self, verdicts: Hashable, code: bytes) -> Words | None:
        """Returns the earlier words for the same code and verdicts, at no cost, or None."""
        words = self._told.get((verdicts, code))
        if words is None:
            return None
        evidence = words.evidence
        free = tuple(replace(one, edits=0, seconds=0.0) for one in evidence.repairs)
        return replace(words, evidence=replace(evidence, repairs=free))

    def learn(self, verdicts: Hashable, code: bytes, words: Words) -> None:
        """Remembers words, and forgets the oldest ones beyond a bound."""
        self._told[verdicts, code] = words
        while len(self._told) > _MOST_REMEMBERED:
            self._told.popitem(last=False)
