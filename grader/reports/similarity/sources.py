"""What is compared of a submission: its files' fingerprints, and the files where they are shown."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from grader.reports.similarity.bounds import MOST_CHARACTERS, MOST_FILES, MOST_TOKENS

Numbers = npt.NDArray[np.int64]
_LONGEST_NAME = 400


@dataclass(frozen=True, slots=True, eq=False)
class ComparedFile:
    """One file: its name, a digest of its text, its fingerprints with their first and last lines.

    The text is there where it was asked for.
    """

    name: str
    digest: str
    prints: Numbers
    first: Numbers
    last: Numbers
    text: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class ComparedSources:
    """The files of a submission; `partly` if there was more than is compared."""

    files: tuple[ComparedFile, ...] = ()
    partly: bool = False

    @property
    def prints(self) -> Numbers:
        """The fingerprints of all files, each once, in order."""
        every = [file.prints for file in self.files]
        return np.unique(np.concatenate(every)) if every else np.empty(0, np.int64)

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> ComparedSources:
        """The sources that `as_json` wrote.

        Raises:
            LookupError, TypeError, ValueError, OverflowError: if it did not.
        """
        files = row["files"]
        if not isinstance(files, list) or len(files) > MOST_FILES:
            raise ValueError("too many files")
        return cls(tuple(map(_file, files)), bool(row["partly"]))


class Shelf:
    """Keeps on disk what was read of each submission, by its place, so that it is read once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, place: int, sources: ComparedSources) -> None:
        """Keeps the sources of a submission.

        Raises:
            OSError: if there is no room.
        """
        rows = [
            (file.name, file.digest, file.text, np.stack(_columns(file)).T.tolist())
            for file in sources.files
        ]
        self._file(place).write_text(json.dumps(as_json(rows, sources.partly)), "utf-8")

    def get(self, place: int) -> ComparedSources:
        """The sources that were kept.

        Raises:
            OSError: if they are gone.
        """
        return ComparedSources.from_json(json.loads(self._file(place).read_text("utf-8")))

    def _file(self, place: int) -> Path:
        return self._folder / f"{place}.json"


def _columns(file: ComparedFile) -> tuple[Numbers, Numbers, Numbers]:
    return file.prints, file.first, file.last


def as_json(files: Sequence[tuple[str, str, str, Sequence[Sequence[int]]]], partly: bool) -> Any:
    """Sources as plain data: of each file its name, digest, text and fingerprints with lines."""
    return {"files": [list(file) for file in files], "partly": partly}


def _file(row: Sequence[Any]) -> ComparedFile:
    name, digest, text, prints = row
    if len(prints) > MOST_TOKENS or len(text) > MOST_CHARACTERS:
        raise ValueError("too much of a file")
    found, first, last = np.array(prints, dtype=np.int64).reshape(-1, 3).T
    return ComparedFile(str(name)[:_LONGEST_NAME], str(digest), found, first, last, str(text))
