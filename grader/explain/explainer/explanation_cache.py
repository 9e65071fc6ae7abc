"""The explanation cache: submissions with the same files and verdicts get the same words."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import replace
from pathlib import Path

from grader.core.explanation import Words
from grader.explain.repair.sources import files_below
from grader.intake.open_folder import read_bounded

_MOST_BYTES = 16 << 20
_MOST_REMEMBERED = 128


def digest_below(root: Path) -> bytes | None:
    """Returns a digest of all files below a folder; None if they are too large or unreadable."""
    digest = hashlib.sha256()
    left = _MOST_BYTES
    for path in files_below(root):
        try:
            content = read_bounded(path, left + 1)
        except OSError:
            return None
        left -= len(content)
        if left < 0:
            return None
        title = f"{path.relative_to(root).as_posix()}\0{len(content)}\0"
        digest.update(title.encode("utf-8", "surrogatepass"))
        digest.update(content)
    return digest.digest()


class ExplanationCache:
    """The latest words of a class, each with the verdicts and the files to which they belong."""

    def __init__(self) -> None:
        self._told: OrderedDict[Hashable, Words] = OrderedDict()

    def words(self, verdicts: Hashable, files: bytes) -> Words | None:
        """Returns the earlier words for the same files and verdicts, at no cost, or None."""
        words = self._told.get((verdicts, files))
        if words is None:
            return None
        evidence = words.evidence
        free = tuple(replace(one, edits=0, seconds=0.0) for one in evidence.repairs)
        return replace(words, evidence=replace(evidence, repairs=free))

    def learn(self, verdicts: Hashable, files: bytes, words: Words) -> None:
        """Remembers words, and forgets the oldest ones beyond a bound."""
        self._told[verdicts, files] = words
        while len(self._told) > _MOST_REMEMBERED:
            self._told.popitem(last=False)
