"""The other end of the process that reads submissions' code."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path
from typing import ClassVar

from grader.core.submission import Unreadable
from grader.intake.client import NO_ANSWER, IntakeClient
from grader.intake.copying.limits import MIB
from grader.intake.copying.private_copy import CopyFailed
from grader.intake.entry import Entry
from grader.reports.similarity.bounds import READING_BOUNDS
from grader.reports.similarity.sources import ComparedSources

_BOOT = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from grader.intake.copying.bounds import Bounds; "
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
        """The code of a submission, which is copied into the empty folder `into` for that.

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
