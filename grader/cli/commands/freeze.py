"""`grader freeze`: the fixture tensors of the public tests."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli.options import assignment_option
from grader.core.assignment import find_assignment


@click.command(short_help="Make the public tests' fixture tensors anew.")
@assignment_option
def freeze(assignment_folder: Path) -> None:
    """Makes the fixture tensors of the public tests anew, from the references.

    For authors: run it after a public test, a reference or a mistake was changed.

    \b
    Examples:
      grader freeze
      grader freeze --assignment examples/feed_forward
    """
    from grader.authoring.handout.freezing import (
        freeze_public_tests,  # torch takes a second to load
    )

    assignment = find_assignment(assignment_folder)
    for file in freeze_public_tests(assignment, assignment.public_tests):
        click.echo(f"{file.relative_to(assignment.root)}  {file.stat().st_size / 1024:.0f} KiB")
