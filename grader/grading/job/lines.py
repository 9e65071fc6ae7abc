"""Lines of JSON between the coordinator and its jobs; loaded before torch is, and without it."""

from __future__ import annotations

import contextlib
import enum
import json
import os
from collections.abc import Iterator
from typing import Any


class Role(enum.StrEnum):
    """The role of the process that answers a job's lines: judge or explainer."""

    JUDGE = "judge"
    EXPLAINER = "explainer"


class LineChannel:
    """A descriptor to listen to, and one to answer at; processes that fork have both."""

    def __init__(self, listening: int, answering: int) -> None:
        self._listening = os.fdopen(listening, encoding="utf-8")
        self._answering = os.fdopen(answering, "w", encoding="utf-8")

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yields each line that comes in, until the coordinator hangs up."""
        while (line := self.next()) is not None:
            yield line

    def next(self) -> dict[str, Any] | None:
        """Returns the next line that comes in; None if the coordinator has hung up."""
        line = self._listening.readline()
        return json.loads(line) if line else None

    def say(self, line: dict[str, Any]) -> None:
        """Answers; nothing if nobody is there to be told."""
        with contextlib.suppress(BrokenPipeError):
            self._answering.write(json.dumps(line, allow_nan=False) + "\n")
            self._answering.flush()

    def end_line(self) -> None:
        """Ends the line in whose midst another process was that answers here."""
        with contextlib.suppress(BrokenPipeError):
            self._answering.write("\n")
            self._answering.flush()

    def stop_listening(self) -> None:
        """Leaves what comes in to the other processes that have this."""
        self._listening.close()

    def close(self) -> None:
        """Leaves all to the other processes that have this."""
        self.stop_listening()
        with contextlib.suppress(BrokenPipeError):
            self._answering.close()
