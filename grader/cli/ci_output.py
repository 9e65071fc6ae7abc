"""The outputs of `grader run` for CI: a step of GitHub Actions, Gradescope's results file."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from grader.core.verdict import Grade, Verdict
from grader.reports.export.github import (
    SourcePaths,
    annotated,
    classroom_result,
    encoded,
    step_summary,
)
from grader.reports.export.gradescope import Display, not_graded, progress
from grader.reports.export.scores import ExportRefused, write_whole
from grader.reports.single import print_grade


def tell_github(grade: Grade, submission: Path) -> None:
    """Prints the grade and its annotations; adds the step's summary and its output `result`.

    The runner reads lines of a step's output as commands. Texts from a submission are therefore
    printed while commands are stopped by a token that cannot be guessed. Annotations are escaped.
    """
    token = secrets.token_hex(16)
    click.echo(f"::stop-commands::{token}")
    try:
        print_grade(grade, Console())
    finally:
        click.echo(f"::{token}::")
    repository = Path(os.environ.get("GITHUB_WORKSPACE") or Path.cwd())
    sources = SourcePaths(submission, repository)
    for annotation in annotated(grade, sources):
        click.echo(annotation.command)
    _append("GITHUB_STEP_SUMMARY", step_summary(grade))
    _append("GITHUB_OUTPUT", f"result={encoded(classroom_result(grade))}\n")


def _append(variable: str, text: str) -> None:
    """Appends to the file that an environment variable names; does nothing outside of GitHub."""
    file = os.environ.get(variable)
    if file:
        try:
            with Path(file).open("a", encoding="utf-8") as appended:
                appended.write(text)
        except OSError as error:
            raise ExportRefused(
                f"{file}, which {variable} names, cannot be written ({error.strerror}): "
                "is this a step of a workflow?"
            ) from error


_SECONDS_BETWEEN = 0.2


class LiveResults:
    """A context manager that rewrites `results.json` as verdicts arrive, at most 5 times a second.

    If the process is killed, the file holds the points so far. After an exception, it says that
    the grader stopped.
    """

    def __init__(self, file: Path, display: Display) -> None:
        self._file = file
        self._display = display
        self._most = 0.0
        self._verdicts: dict[str, Verdict] = {}
        self._written = 0.0

    def __enter__(self) -> LiveResults:
        self._write(progress(0.0, (), self._display))
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            # An exception's message may name hidden tests; instructors read it in the output.
            self.finish(not_graded(f"the grader stopped ({kind.__name__})"))

    def expect(self, most: float) -> None:
        """Sets the points of the exercises that will be graded."""
        self._most = most

    def add(self, verdict: Verdict) -> None:
        """Adds a verdict; a full disk must not end the grading, so that only `finish` raises."""
        self._verdicts[verdict.id] = verdict
        if time.monotonic() - self._written >= _SECONDS_BETWEEN:
            with contextlib.suppress(ExportRefused):
                self._write(progress(self._most, [*self._verdicts.values()], self._display))
            self._written = time.monotonic()

    def finish(self, results: Mapping[str, Any]) -> None:
        """Writes the final results."""
        self._write(results)

    def _write(self, results: Mapping[str, Any]) -> None:
        write_whole(self._file, json.dumps(results, allow_nan=False, indent=1))
