"""`grader doctor`: what this machine grants."""

from __future__ import annotations

import platform
import sys
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

import grader
from grader.report.text import one_line

if TYPE_CHECKING:
    from grader.sandbox.probe import Examination


@click.command(short_help="Try what isolation this machine grants.")
def doctor() -> None:
    """Tries each layer of isolation for real, and prints what holds on this machine.

    A confined process attempts what no submission may do; each attempt must be refused. Exits
    with 1 if a layer is missing or an attempt got through.

    \b
    Example:
      grader doctor
    """
    from grader.sandbox.probe import examine_confinement  # torch takes a second to load

    examination = examine_confinement()
    console = Console()
    console.print(_machine(), highlight=False)
    console.print(_layers(examination))
    console.print(_attempts(examination))
    if examination.holds:
        console.print("every layer holds")
        return
    console.print("some layer does not hold: grade strangers' code on a machine where all do")
    sys.exit(1)


def _machine() -> str:
    from importlib.metadata import version

    return (
        f"grader {grader.__version__}, Python {platform.python_version()}, "
        f"torch {version('torch')}, {platform.system()} {platform.release()}"
    )


def _layers(examination: Examination) -> Table:
    table = Table("layer", "what it came to", title="layers", title_justify="left")
    for layer, reached in sorted(examination.isolation.items()):
        table.add_row(layer, Text(reached, style="red" if reached == "none" else "green"))
    return table


def _attempts(examination: Examination) -> Table:
    table = Table("layer", "attempt", "result", "", title="attempts", title_justify="left")
    for attempt in examination.attempts:
        result = "done" if attempt.succeeded else "refused"
        verdict = Text("as it must be" if attempt.ok else "NOT as it must be")
        verdict.stylize("green" if attempt.ok else "bold red")
        table.add_row(attempt.layer, attempt.what, result, verdict)
        if not attempt.ok:
            table.add_row("", Text(one_line(attempt.detail)), "", "")
    return table
