"""`grader new`: a fresh assignment."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from grader.authoring.new_assignment import lay_out_assignment
from grader.cli.options import FOLDER


@click.command(short_help="Lay out a fresh assignment.")
@click.argument("folder", metavar="DIR", type=FOLDER)
@click.option("--name", help="Its name.  [default: the folder's name]")
def new(folder: Path, name: str | None) -> None:
    """Lays out a fresh assignment in the new folder DIR.

    \b
    Examples:
      grader new my-assignment
      grader new courses/week-3 --name "Norms and activations"

    It has one small exercise with a stub, a reference, a known mistake, public and hidden tests,
    and two example submissions, and passes its own tests at once.
    """
    name = lay_out_assignment(folder, name)
    click.echo(f"{folder}: the assignment {name}, with one exercise. Next:\n")
    click.echo(f"    cd {shlex.quote(str(folder))}")
    click.echo("    pytest")
