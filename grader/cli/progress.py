"""How far a batch has come: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections import Counter

import rich.progress
from rich.console import Console

from grader.plain_text import plain
from grader.verdict import Grade

_SECONDS_BETWEEN_LINES = 5.0


class Progress:
    """Shows counts and the time left on stderr; a context manager."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._counts: Counter[str] = Counter()
        self._console = Console(stderr=True)
        self._last_line = 0.0
        self._bar = rich.progress.Progress(
            rich.progress.TextColumn("grading"),
            rich.progress.BarColumn(),
            rich.progress.MofNCompleteColumn(),
            rich.progress.TextColumn("{task.description}", markup=False),
            rich.progress.TimeRemainingColumn(),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._task = self._bar.add_task("", total=total)

    def __enter__(self) -> Progress:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def advance(self, grade: Grade) -> None:
        """One more submission has its grade."""
        self._counts[str(grade.status)] += 1
        counts = ", ".join(f"{n} {kind.replace('_', ' ')}" for kind, n in self._counts.items())
        self._bar.update(self._task, advance=1, description=counts)
        done = self._counts.total()
        due = time.monotonic() - self._last_line > _SECONDS_BETWEEN_LINES or done == self._total
        if not self._console.is_terminal and due:
            self._last_line = time.monotonic()
            print(
                f"{done}/{self._total}: {counts}; last: {plain(grade.submission)}",
                file=self._console.file,
                flush=True,
            )
