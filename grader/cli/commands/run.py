"""`grader run`: one submission."""

from __future__ import annotations

import contextlib
import io
import json
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import click

from grader.cli.options import (
    FILE,
    PATH,
    chosen_options,
    display_options,
    grading_options,
    isolation_in_words,
    say,
)
from grader.core.points import hundredths
from grader.core.verdict import Grade, GradeStatus
from grader.grading.options import require_isolation as require_every_layer
from grader.reports.export.gradescope import (
    Display,
    VisibleWhen,
    prairielearn_results,
    results,
    total_points,
)

_FORMATS = ("text", "json", "gradescope", "github", "junit", "prairielearn")
_PAGE_WIDTH = 100


@click.command(short_help="Grade one submission.")
@click.argument("path", type=PATH)
@click.option(
    "--format",
    "form",
    type=click.Choice(_FORMATS),
    default="text",
    show_default=True,
    help="The reader of the grade: people, programs, or a platform (docs/ci.md).",
)
@click.option(
    "--out",
    "output",
    type=FILE,
    metavar="FILE",
    help="Write the grade to this file instead of printing it.",
)
@click.option(
    "--fail-under",
    type=click.FloatRange(0, 100),
    metavar="PERCENT",
    help="Exit with 1 if the score is below this share of the points.",
)
@click.option(
    "--metadata",
    type=FILE,
    metavar="FILE",
    help="gradescope: its submission_metadata.json; points are scaled to the assignment's.",
)
@display_options
@grading_options
def run(
    path: Path,
    form: str,
    output: Path | None,
    fail_under: float | None,
    metadata: Path | None,
    hidden_tests: str,
    leaderboard: bool,
    assignment_folder: Path,
    no_explain: bool,
    require_isolation: bool,
    **chosen: Any,
) -> None:
    """Grades the submission at PATH: a folder, an archive, a notebook or a Python file.

    \b
    Examples:
      grader run submissions/alice
      grader run submissions/alice.zip --format json --fail-under 60
      grader run . --assignment ~/course --format junit --out report.xml

    Exit code 0: the submission is graded, whatever the grade is. Exit code 1: it is not graded, or
    its grade is below --fail-under. Exit code 2: an argument or the assignment is wrong.
    """
    if form == "github" and output is not None:
        raise click.UsageError("--format github prints commands for the runner: leave out --out")
    display = Display(_total(metadata), VisibleWhen(hidden_tests), leaderboard)
    with contextlib.ExitStack() as stack:
        from rich.console import Console

        from grader.cli.ci_output import LiveResults, tell_github
        from grader.grading.coordinator import graded_alone
        from grader.intake.discovery import single
        from grader.reports.export.scores import write_whole
        from grader.reports.single import credited, print_grade

        live = None
        if form == "gradescope" and output is not None:
            live = stack.enter_context(LiveResults(output, display))
        if require_isolation:
            require_every_layer()
        assignment, options = chosen_options(assignment_folder, [path], **chosen)
        if live:
            wanted = options.exercises or tuple(assignment.points)
            live.expect(sum(assignment.points[name] for name in wanted))
        follow = live.add if live else None
        grade = graded_alone(single(path), assignment, options, not no_explain, follow)
        if live:
            live.finish(results(grade, display))
        elif form == "github":
            tell_github(credited(grade), path)
        elif output:
            write_whole(output, _text(form, grade, assignment.name, display))
        elif form == "text":
            print_grade(grade, Console())
            say(f"inputs were drawn with seed {grade.seed}; --seed {grade.seed} draws them again")
            if "none" in grade.isolation.values():
                say(f"isolation: {isolation_in_words(grade.isolation)}")
        else:
            click.echo(_text(form, grade, assignment.name, display), nl=False)
    # As it is written: in binary, 16.1 is a little more.
    percent = Fraction(str(fail_under or 0))
    reached, needed = 100 * hundredths(grade.final), hundredths(grade.max_score) * percent
    is_low = fail_under is not None and reached < needed
    sys.exit(int(is_low or grade.status is GradeStatus.NOT_GRADED))


def _text(form: str, grade: Grade, assignment: str, display: Display) -> str:
    from rich.console import Console

    from grader.reports.export.junit import junit_xml
    from grader.reports.single import credited, print_grade

    as_json: dict[str, Callable[[], dict[str, Any]]] = {
        "json": grade.as_json,
        "gradescope": lambda: results(grade, display),
        "prairielearn": lambda: prairielearn_results(credited(grade)),
    }
    if form in as_json:
        return json.dumps(as_json[form](), allow_nan=False) + "\n"
    if form == "junit":
        return junit_xml(assignment, [credited(grade)])
    page = io.StringIO()
    print_grade(grade, Console(file=page, width=_PAGE_WIDTH))
    return page.getvalue()


def _total(metadata: Path | None) -> float | None:
    """Returns the points of the Gradescope assignment; if the file has none, prints a warning."""
    if metadata is None:
        return None
    total = None
    with contextlib.suppress(OSError, UnicodeDecodeError):
        total = total_points(metadata.read_text(encoding="utf-8"))
    if total is None:
        say(f"{metadata} tells no total_points: points are the assignment's own")
    return total
