"""Speaks to GitHub Actions: what a step prints, and the files that its runner reads afterwards."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

import click
from rich.console import Console

from grader.core.verdict import Grade
from grader.reports.export.classroom import classroom_result, encoded
from grader.reports.export.github import SourcePaths, annotated, step_summary
from grader.reports.export.remarks import ExportRefused
from grader.reports.single import print_grade


def tell_github(grade: Grade, submission: Path, adapters: str) -> None:
    """Prints the grade and its annotations; adds the step's summary and its output `result`.

    The runner takes lines of a step's output for commands. What a submission had a hand in is
    printed while commands are stopped, by a token that nobody can guess; annotations are escaped.
    """
    token = secrets.token_hex(16)
    click.echo(f"::stop-commands::{token}")
    try:
        print_grade(grade, Console())
    finally:
        click.echo(f"::{token}::")
    repository = Path(os.environ.get("GITHUB_WORKSPACE") or Path.cwd())
    sources = SourcePaths(submission, adapters, repository)
    for annotation in annotated(grade, sources):
        click.echo(annotation.command)
    _append("GITHUB_STEP_SUMMARY", step_summary(grade))
    _append("GITHUB_OUTPUT", f"result={encoded(classroom_result(grade))}\n")


def _append(variable: str, text: str) -> None:
    """Adds to the file that an environment variable names; outside of GitHub there is none."""
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
