"""The progress of a batch: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections import Counter
from typing import Self

import rich.progress
from rich.console import Console

from grader.core.text import plain

_SECONDS_BETWEEN_LINES = 5.0


class ProgressBar:
    """A context manager that shows counts and the time left, on stderr.

    Unless it `begins` at once, it is shown from the first count on.
    """

    def __init__(self, doing: str, begins: bool = True) -> None:
        self._begins = begins
        self._counts: Counter[str] = Counter()
        self._console = Console(stderr=True)
        self._last_line = 0.0
        self._bar = rich.progress.Progress(
            rich.progress.TextColumn(doing),
            rich.progress.BarColumn(),
            rich.progress.MofNCompleteColumn(),
            rich.progress.TextColumn("{task.description}", markup=False),
            rich.progress.TimeRemainingColumn(),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._task = self._bar.add_task("", total=None)

    def __enter__(self) -> Self:
        if self._begins:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def count(self, outcome: str, submission: str, total: int) -> None:
        """Counts one more outcome of `total`, and shows the counts."""
        self._bar.start()
        self._counts[outcome] += 1
        counts = ", ".join(f"{n} {kind.replace('_', ' ')}" for kind, n in self._counts.items())
        self._bar.update(self._task, advance=1, total=total, description=counts)
        done = self._counts.total()
        due = time.monotonic() - self._last_line > _SECONDS_BETWEEN_LINES or done == total
        if not self._console.is_terminal and due:
            self._last_line = time.monotonic()
            last = f"; last: {plain(submission)}" if submission else ""
            print(f"{done}/{total}: {counts}{last}", file=self._console.file, flush=True)
        if done == total:
            self._bar.stop()
