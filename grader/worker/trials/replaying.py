"""Makes calls one after another in one state, and tells what of the earlier ones the later meet."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from grader.core.wire.trials import Passed
from grader.worker.observing.lines import Onlooker, OwnLines
from grader.worker.trials.memory import StateChange

Place = tuple[str, int]


class Keepers(Onlooker):
    """Looks on at calls: by change of what modules hold, the submission's lines that made it."""

    def __init__(self, root: Path, changes: Sequence[StateChange]) -> None:
        self._own = OwnLines(root)
        self._changes = changes
        self._held = [one.look() for one in changes]
        self._lines: list[set[Place]] = [set() for _ in changes]
        self._at: Place | None = None

    @property
    def lines(self) -> tuple[Passed, ...]:
        """For each change the line that makes it; none if that is not plain."""
        return tuple(map(self._line, self._changes, self._lines))

    def _line(self, change: StateChange, seen: set[Place]) -> Passed:
        places = {change.line} if change.line is not None else seen
        if len(places) != 1:
            return Passed("", ())
        ((file, line),) = places
        return Passed(self._own.place(file), (line,))

    def _called(self, frame: FrameType, _event: str, _argument: object) -> Any:
        if not self._own.holds(frame.f_code.co_filename):
            return None
        self._note()
        self._at = _place_of(frame)
        return self._went_on

    def _went_on(self, frame: FrameType, event: str, _argument: object) -> Any:
        self._note()
        around = frame.f_back if event == "return" else frame
        is_own = around is not None and self._own.holds(around.f_code.co_filename)
        self._at = _place_of(around) if around is not None and is_own else None
        return self._went_on

    def _note(self) -> None:
        """Notes what has changed since this was asked last: the line since then has done it."""
        for number, change in enumerate(self._changes):
            held = change.look()
            if held != self._held[number]:
                self._held[number] = held
                if self._at is not None:
                    self._lines[number].add(self._at)


def _place_of(frame: FrameType) -> Place:
    return frame.f_code.co_filename, frame.f_lineno or 0
