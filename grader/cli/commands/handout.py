"""`grader freeze` and `grader handout`: fixture tensors, and the files that students get."""

from __future__ import annotations

from pathlib import Path

import click

from grader.authoring.handout.installing import Platform
from grader.cli.options import FOLDER, assignment_option, torch_index_option
from grader.core.assignment import find_assignment


@click.command(short_help="Make the public tests' fixture tensors again.")
@assignment_option
def freeze(assignment_folder: Path) -> None:
    """Makes the fixture tensors of the public tests again, from the references.

    \b
    Examples:
      grader freeze
      grader freeze --assignment examples/feed_forward

    For authors: run it after a public test, a reference or a mistake was changed.
    """
    from grader.authoring.handout.freezing import (
        freeze_public_tests,  # torch takes a second to load
    )

    assignment = find_assignment(assignment_folder)
    for file in freeze_public_tests(assignment, assignment.public_tests):
        click.echo(f"{file.relative_to(assignment.root)}  {file.stat().st_size / 1024:.0f} KiB")


@click.command(short_help="Write what students get.")
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
    """Writes what students get into the new folder DIR.

    \b
    Examples:
      grader handout student-files/ --platform canvas
      grader handout ../handout --assignment examples/feed_forward

    Stubs, adapters, public tests with their fixture tensors, one file with as much of the engine
    as these need, what pip, uv and conda install from, a README, and a workflow by which GitHub
    runs the tests on every push; no solution and nothing of the hidden tests.
    """
    from grader.authoring.handout.folder import Course, lay_out  # torch takes a second to load

    assignment = find_assignment(assignment_folder)
    lay_out(assignment, folder, Course(Platform(platform) if platform else None, torch_index))
    click.echo(f"{folder}: the handout of {assignment.name}; its README.md says how to begin")
