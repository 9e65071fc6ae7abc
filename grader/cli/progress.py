"""The progress of a batch: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from typing import Self

import rich.progress
from rich.console import Console

from grader.core.text import plain
from grader.core.verdict import Grade
from grader.grading.options import Explained
from grader.reports.summary import labelled

_SECONDS_BETWEEN_LINES = 5.0


class _Progress:
    """A display of counts and of the time left, on stderr."""

    def __init__(self, doing: str) -> None:
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
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def count(self, outcome: str, submission: str, total: int) -> None:
        """Counts one more outcome of `total`, and shows the counts."""
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

    def _begin(self) -> None:
        self._bar.start()


class GradingProgress(_Progress):
    """A context manager that shows how many of `total` submissions are graded.

    `called` holds the label of each submission, which also names its authors.
    """

    def __init__(self, total: int, called: Mapping[str, str]) -> None:
        super().__init__("grading")
        self._total = total
        self._called = called

    def __enter__(self) -> Self:
        if self._total:
            self._begin()
        return self

    def advance(self, grade: Grade) -> None:
        """Counts one more graded submission."""
        self.count(str(grade.status), self._called[grade.submission], self._total)


class ExplainingProgress(_Progress):
    """A context manager that shows how many submissions are explained."""

    def __init__(self) -> None:
        super().__init__("explaining")
        self._has_begun = False

    def advance(self, explained: Explained, total: int) -> None:
        """Counts one more of `total` submissions, whether it is explained in full or in part."""
        if not self._has_begun:
            self._has_begun = True
            self._begin()
        outcome = "without all words" if explained.words.missing else "explained"
        entry = explained.question.entry
        self.count(outcome, labelled(entry.name, entry.authors), total)


class ReadingProgress(_Progress):
    """A context manager that shows how many submissions are read."""

    def __init__(self) -> None:
        super().__init__("reading")

    def __enter__(self) -> Self:
        self._begin()
        return self

    def advance(self, _done: int, total: int) -> None:
        """Counts one more of `total` submissions as read."""
        self.count("read", "", total)
