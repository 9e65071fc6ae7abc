"""`grader gradescope-zip`: the autograder of an assignment for Gradescope."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from grader.authoring.gradescope_zip import (
    EXPLAIN_TIMEOUT,
    MEMORY_MB,
    TIMEOUT,
    Autograder,
    autograder_zip,
)
from grader.cli.options import (
    FILE,
    chosen_options,
    display_options,
    grading_options,
    torch_index_option,
)
from grader.core.assignment import CPU
from grader.reports.export.gradescope import Display, VisibleWhen
from grader.reports.export.scores import write_whole

_DEFAULTS = {"timeout": TIMEOUT, "memory": MEMORY_MB, "explain_timeout": EXPLAIN_TIMEOUT}


@click.command(
    "gradescope-zip",
    short_help="Write the autograder for Gradescope.",
    context_settings={"default_map": _DEFAULTS},
)
@click.argument("file", type=FILE)
@torch_index_option
@display_options
@grading_options
def gradescope_zip(
    file: Path,
    torch_index: str | None,
    hidden_tests: str,
    leaderboard: bool,
    assignment_folder: Path,
    **chosen: Any,
) -> None:
    """Writes the assignment's autograder to the zip FILE, to be uploaded to Gradescope as it is.

    \b
    Examples:
      grader gradescope-zip autograder.zip --torch-index URL
      grader gradescope-zip autograder.zip --hidden-tests after_due_date

    It holds the engine, the tests and the solutions: keep it as secret as those. It fits
    Gradescope's smallest container: 768 MB, half a processor, 10 minutes.
    """
    required, no_explain = chosen.pop("require_isolation"), chosen.pop("no_explain")
    assignment, options = chosen_options(assignment_folder, require_isolation=False, **chosen)
    if options.device != CPU:
        raise click.UsageError(
            f"--device {options.device}: Gradescope's containers have no GPU, and the zip installs "
            "torch for CPUs: leave --device out"
        )
    display = Display(hidden_tests=VisibleWhen(hidden_tests), leaderboard=leaderboard)
    autograder = Autograder(options, display, torch_index, required, not no_explain)
    content = autograder_zip(assignment, autograder)
    write_whole(file, content)
    click.echo(
        f"{file}: the autograder of {assignment.name}, {len(content) / 1024:.0f} KiB, which takes "
        f"at most {autograder.seconds / 60:.0f} minutes for a submission"
    )
    if torch_index is None:
        click.echo(
            "its setup.sh finds torch for CPUs only if pip in the image knows where: "
            "name the index with --torch-index",
            err=True,
        )
