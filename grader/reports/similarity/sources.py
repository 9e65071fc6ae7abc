"""The code that is compared: its bounds, its fingerprints, and the process that reads it."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from grader.core.submission import Unreadable
from grader.intake.client import NO_ANSWER, IntakeClient
from grader.intake.copying import CopyFailed
from grader.intake.entry import Entry
from grader.intake.limits import MIB, Bounds

MOST_FILES = 400
MOST_CHARACTERS = MIB
MOST_TOKENS = 60_000
LONGEST_LINE = 20_000  # a lexer's time may grow with the square of one
# Half a megabyte of code takes some seconds; nearly all submissions take hundredths of one.
READING_BOUNDS = Bounds(processor_seconds=30)


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
        """Returns the fingerprints of all files, each once, in order."""
        every = [file.prints for file in self.files]
        return np.unique(np.concatenate(every)) if every else np.empty(0, np.int64)

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> ComparedSources:
        """Returns the sources that `as_json` wrote.

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
        """Returns the sources that were kept.

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


_BOOT = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from grader.intake.limits import Bounds; "
    "from grader.reports.similarity.process import main; "
    "main(int(sys.argv[2]), int(sys.argv[3]), Bounds(*map(int, sys.argv[4:])))"
)


class SourcesClient(IntakeClient):
    """Has the code of submissions read by a process of their own; a context manager."""

    boot: ClassVar[str] = _BOOT
    longest_answer: ClassVar[int] = 16 * MIB

    def __init__(self) -> None:
        super().__init__(READING_BOUNDS)

    def read(
        self, entry: Entry, into: Path, given: Collection[str] = (), texts: bool = False
    ) -> ComparedSources:
        """Returns the code of a submission, which is copied into the empty folder `into` for that.

        Files whose digests are `given` are left out.

        Raises:
            Unreadable: if there is none that can be read, or reading it cost too much.
            CopyFailed: if the copy could not be written, or no process be started.
        """
        order = {"entry": entry.as_json(), "into": os.fspath(into)}
        self._order(order | {"given": sorted(given), "texts": texts})
        answer = self._answer()
        try:
            if "failed" in answer:
                raise CopyFailed(str(answer["failed"]))
            if "unreadable" in answer:
                raise Unreadable(str(answer["unreadable"]))
            return ComparedSources.from_json(answer["sources"])
        except (LookupError, TypeError, ValueError, OverflowError) as error:
            raise self._lost(NO_ANSWER) from error
