"""Notes which lines of the submission a call passes."""

from __future__ import annotations

from pathlib import Path
from types import FrameType
from typing import Any

from grader.core.wire.trials import MAX_PASSED, Passed
from grader.worker.observing.lines import Onlooker, OwnLines


class LineFollower(Onlooker):
    """Looks on at a call: the lines of the submission's files that are begun, in any order."""

    def __init__(self, root: Path) -> None:
        self._lines = OwnLines(root)
        self._noted: dict[str, dict[int, None]] = {}
        self._left = MAX_PASSED

    @property
    def passed(self) -> tuple[Passed, ...]:
        """The lines, by file below the submission's root."""
        return tuple(
            Passed(self._lines.place(file), tuple(sorted(lines)))
            for file, lines in self._noted.items()
        )

    def _called(self, frame: FrameType, _event: str, _argument: object) -> Any:
        if not self._lines.holds(frame.f_code.co_filename):
            return None
        lines = self._noted.setdefault(frame.f_code.co_filename, {})

        def went_on(frame: FrameType, _event: str, _argument: object) -> Any:
            line = frame.f_lineno
            if line is not None and line not in lines and self._left:
                self._left -= 1
                lines[line] = None
            return went_on

        return went_on
