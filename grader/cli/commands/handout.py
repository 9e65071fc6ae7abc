"""`grader handout`: what students get."""

from __future__ import annotations

from pathlib import Path

import click

from grader.assignment import find_assignment
from grader.cli.options import FOLDER, assignment_option


@click.command(short_help="Write what students get.")
@click.argument("folder", metavar="DIR", type=FOLDER)
@assignment_option
def handout(folder: Path, assignment_folder: Path) -> None:
    """Writes what students get into the new folder DIR.

    Stubs, adapters, public tests with their fixture tensors, the engine, a README, and a workflow
    by which GitHub runs the tests on every push; no solution and nothing of the hidden tests.

    \b
    Examples:
      grader handout student-files
      grader handout ../handout --assignment examples/feed_forward
    """
    from grader.handout.folder import lay_out  # torch takes a second to load

    assignment = find_assignment(assignment_folder)
    lay_out(assignment, folder)
    click.echo(f"{folder}: the handout of {assignment.name}; in it, run pytest")
