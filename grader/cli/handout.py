"""`grader handout`: what students get."""

from __future__ import annotations

from pathlib import Path

import click

from grader.assignment import find_assignment
from grader.cli.options import FOLDER, assignment_option
from grader.handout.folder import lay_out


@click.command()
@click.argument("folder", metavar="DIR", type=FOLDER)
@assignment_option
def handout(folder: Path, assignment_folder: Path) -> None:
    """Writes what students get into the new folder DIR.

    Stubs, adapters, public tests with their fixture tensors, the engine and a README; no solution
    and nothing of the hidden tests.
    """
    assignment = find_assignment(assignment_folder)
    lay_out(assignment, folder)
    click.echo(f"{folder}: the handout of {assignment.name}; in it, run pytest")
