"""`grader run`: one submission."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from grader.batch.coordinator import Coordinator, Task
from grader.cli.options import chosen_settings, grading_options
from grader.intake import fingerprint, single
from grader.report.single import print_grade
from grader.verdict import Grade, GradeStatus


@click.command()
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True
)
@click.option(
    "--fail-under",
    type=click.FloatRange(0, 100),
    metavar="PERCENT",
    help="Exit with 1 if the score is below this share of the points.",
)
@grading_options
def run(
    path: Path,
    form: str,
    fail_under: float | None,
    assignment_folder: Path,
    **chosen: Any,
) -> None:
    """Grades the submission at PATH: a folder, an archive, a notebook or a Python file.

    \b
    Examples:
      grader run submissions/alice
      grader run . --format json --fail-under 60
    """
    _, settings = chosen_settings(assignment_folder, **chosen)
    entry = single(path)
    task = Task(entry, 0, fingerprint(entry), "")
    with Coordinator(settings, 1) as coordinator:
        (graded,) = coordinator.grade([task])
    if form == "json":
        click.echo(json.dumps(graded.grade.as_json(), allow_nan=False))
    else:
        print_grade(graded.grade, Console())
    sys.exit(_exit_code(graded.grade, fail_under))


def _exit_code(grade: Grade, fail_under: float | None) -> int:
    if grade.status is GradeStatus.NOT_GRADED:
        return 1
    return int(fail_under is not None and grade.score < grade.max_score * fail_under / 100)
