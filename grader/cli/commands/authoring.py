"""The commands for authors: `grader new`, `freeze`, `handout` and `gradescope-zip`."""

from __future__ import annotations

import math
import shlex
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
from grader.authoring.handout.installing import Platform
from grader.authoring.new_assignment import lay_out_assignment
from grader.cli.options import (
    FILE,
    FOLDER,
    assignment_option,
    chosen_options,
    display_options,
    grading_options,
    say,
    torch_index_option,
)
from grader.core.assignment import find_assignment
from grader.core.names import CPU
from grader.reports.export.gradescope import Display, VisibleWhen
from grader.reports.export.scores import write_whole

_DEFAULTS = {"timeout": TIMEOUT, "memory_mb": MEMORY_MB, "explain_seconds": EXPLAIN_TIMEOUT}


@click.command(short_help="Make a new assignment.")
@click.argument("folder", metavar="DIR", type=FOLDER)
@click.option("--name", help="Its name.  [default: the folder's name]")
def new(folder: Path, name: str | None) -> None:
    """Lays out a fresh assignment in the new folder DIR.

    \b
    Examples:
      grader new my-assignment
      grader new courses/week-3 --name "Norms and activations"

    The assignment has one small exercise with a stub, a reference, a known mistake, public and
    hidden tests, and two example submissions. It passes its own tests at once.
    """
    name = lay_out_assignment(folder, name)
    click.echo(f"{folder}: the assignment {name}, with one exercise. Next:\n")
    click.echo(f"    cd {shlex.quote(str(folder))}")
    click.echo("    pytest")


@click.command(short_help="Make the public tests' fixture tensors again.")
@assignment_option
def freeze(assignment_folder: Path) -> None:
    """Makes the fixture tensors of the public tests again, from the references.

    \b
    Examples:
      grader freeze
      grader freeze --assignment examples/feed_forward

    Run it after you change a public test, a reference or a mistake.
    """
    # torch takes a second to load
    from grader.authoring.handout.freezing import freeze_public_tests

    assignment = find_assignment(assignment_folder)
    for file in freeze_public_tests(assignment, assignment.public_tests):
        click.echo(f"{file.relative_to(assignment.root)}  {file.stat().st_size / 1024:.0f} KiB")


@click.command(short_help="Write the handout for students.")
@click.argument("folder", metavar="DIR", type=FOLDER)
@click.option(
    "--platform",
    type=click.Choice([str(platform) for platform in Platform]),
    help="Where students hand in: the README says how.",
)
@torch_index_option
@assignment_option
def handout(
    folder: Path, platform: str | None, torch_index: str | None, assignment_folder: Path
) -> None:
    """Writes the handout for students into the new folder DIR.

    \b
    Examples:
      grader handout student-files/ --platform canvas
      grader handout ../handout --assignment examples/feed_forward

    The handout holds stubs, adapters, public tests with their fixture tensors, and one file with
    the part of the engine that these need. It also holds files for pip, uv and conda, a README, and
    a workflow by which GitHub runs the tests on every push. It holds no solution and no hidden
    test.
    """
    from grader.authoring.handout.folder import lay_out  # torch takes a second to load

    assignment = find_assignment(assignment_folder)
    lay_out(assignment, folder, Platform(platform) if platform else None, torch_index)
    click.echo(f"{folder}: the handout of {assignment.name}; its README.md says how to begin")


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
    no_explain: bool,
    require_isolation: bool,
    **chosen: Any,
) -> None:
    """Writes the assignment's autograder to the zip FILE, which you upload to Gradescope unchanged.

    \b
    Examples:
      grader gradescope-zip autograder.zip --torch-index URL
      grader gradescope-zip autograder.zip --hidden-tests after_due_date

    It holds the engine, the tests and the solutions: keep it as secret as those. It fits
    Gradescope's smallest container: 768 MB, half a processor, 10 minutes.
    """
    assignment, options = chosen_options(assignment_folder, (), **chosen)
    if options.device != CPU:
        raise click.UsageError(
            f"--device {options.device}: Gradescope's containers have no GPU, and the zip installs "
            "torch for CPUs: leave --device out"
        )
    display = Display(hidden_tests=VisibleWhen(hidden_tests), leaderboard=leaderboard)
    autograder = Autograder(options, display, torch_index, require_isolation, not no_explain)
    content = autograder_zip(assignment, autograder)
    write_whole(file, content)
    click.echo(
        f"{file}: the autograder of {assignment.name}, {len(content) / 1024:.0f} KiB, which takes "
        f"at most {math.ceil(autograder.seconds / 60)} minutes for a submission"
    )
    if torch_index is None:
        say(
            "its setup.sh finds torch for CPUs only if pip in the image knows where: "
            "name the index with --torch-index"
        )
