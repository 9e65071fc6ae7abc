"""`grader doctor`: the isolation on this machine, and the packages that a class needs."""

from __future__ import annotations

import contextlib
import platform
import sys
from importlib.metadata import version
from pathlib import Path

import click

import grader
from grader.cli.options import PATH, assignment_option
from grader.core.assignment import BadAssignment, find_assignment
from grader.core.text import one_line
from grader.intake.client import survey
from grader.intake.discovery import discover
from grader.reports.package_needs import needs_in_words

_NOT_PROMISED = (
    "not promised here: this machine grants workers no file tree or processes of their own. They "
    "can ask for those of others by name and number. Whether they can read or signal them is told "
    "by the attempts above"
)


@click.command(short_help="Check this machine, or what a class needs on it.")
@click.argument("submissions", nargs=-1, type=PATH)
@assignment_option
@click.option(
    "--adapters",
    default="adapters.py",
    metavar="PATH",
    show_default=True,
    help="Where in a submission the adapters lie.",
)
def doctor(submissions: tuple[Path, ...], assignment_folder: Path, adapters: str) -> None:
    """Tries each layer of isolation for real, and prints which ones hold on this machine.

    \b
    Examples:
      grader doctor
      grader doctor submissions/

    A confined process attempts forbidden actions; each attempt must fail, or the process must be
    stopped. The command also prints the guarantees that this machine does not give. Exits with 1
    if a layer is missing or an attempt succeeds.

    With SUBMISSIONS, prints the packages that these import and that are not installed here. It
    finds submissions as `grader batch` does. None of their code runs.
    """
    if submissions:
        entries = discover(submissions, adapters).entries
        course = assignment_folder
        with contextlib.suppress(BadAssignment):
            course = find_assignment(assignment_folder).root
        imported = survey(entries, adapters) if entries else {}
        for sentence in needs_in_words(imported, {path.stem for path in course.iterdir()}):
            click.echo(sentence)
        return
    _try_the_machine()


def _try_the_machine() -> None:
    from grader.sandbox.probe import examine_confinement  # torch takes a second to load

    click.echo("confining workers that try to get out ...", err=True)
    examination = examine_confinement()
    machine = (
        f"grader {grader.__version__}, Python {platform.python_version()}, "
        f"torch {version('torch')}, {platform.system()} {platform.release()}"
    )
    click.echo(f"{machine}\nlayers:")
    for layer, reached in sorted(examination.isolation.items()):
        click.echo(f"    {layer:<16}{reached}")
    click.echo("attempts:")
    for attempt in examination.attempts:
        done = "done" if attempt.succeeded else "stopped" if attempt.stopped else "refused"
        said = "as it must be" if attempt.ok else "NOT as it must be"
        said = said if attempt.promised else "not promised here"
        click.echo(f"    {attempt.layer:<16}{attempt.what:<40} {done:<8} {said}")
        if not attempt.ok and attempt.detail:
            click.echo(f"        {one_line(attempt.detail)}")
    if not all(attempt.promised for attempt in examination.attempts):
        click.echo(_NOT_PROMISED)
    if examination.holds:
        click.echo("every layer holds")
        return
    click.echo("a layer does not hold: grade strangers' code on a machine where all layers hold")
    sys.exit(1)
