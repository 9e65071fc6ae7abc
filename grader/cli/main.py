"""The command `grader`: its verbs, and how it says what went wrong."""

from __future__ import annotations

import io
import sys

import click

import grader
from grader.assignment import BadAssignment
from grader.cli.commands.batch import batch
from grader.cli.commands.completion import completion
from grader.cli.commands.doctor import doctor
from grader.cli.commands.explain import explain
from grader.cli.commands.export import export
from grader.cli.commands.freeze import freeze
from grader.cli.commands.gradescope_zip import gradescope_zip
from grader.cli.commands.handout import handout
from grader.cli.commands.new import new
from grader.cli.commands.report import report
from grader.cli.commands.run import run
from grader.cli.commands.tolerances import tolerances
from grader.cli.commands.verify import verify_command
from grader.cli.options import INTERRUPTED
from grader.dispatch.cluster.connection import NoCluster
from grader.dispatch.isolation import NotIsolated
from grader.export.remarks import ExportRefused
from grader.intake import BadRoster, NothingToGrade
from grader.pages import NotWritten
from grader.sandbox.forkserver import ForkServerLost
from grader.store import StoreError

_REFUSALS = (
    BadAssignment,
    BadRoster,
    ExportRefused,
    ForkServerLost,
    NoCluster,
    NotIsolated,
    NothingToGrade,
    NotWritten,
    StoreError,
)


@click.group(context_settings={"help_option_names": ["-h", "--help"]}, invoke_without_command=True)
@click.version_option(grader.__version__, prog_name="grader")
@click.pass_context
def cli(context: click.Context) -> None:
    """Grades student PyTorch implementations: a folder of submissions in, grades out.

    \b
    Examples:
      grader batch submissions/ --out results/
      grader run submissions/alice
      grader report results/
      grader export results/ --format csv --output grades.csv
      grader handout student-files/
      grader new my-assignment
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


for command in (
    batch,
    run,
    explain,
    report,
    export,
    new,
    verify_command,
    freeze,
    handout,
    gradescope_zip,
    tolerances,
    doctor,
    completion,
):
    cli.add_command(command)


def main() -> None:
    """Runs the command line; a refusal is one sentence and exit code 2.

    A letter that the terminal's encoding lacks is told by its number: no name stops a command.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        sys.exit(cli(prog_name="grader", standalone_mode=False))
    except click.ClickException as mistake:
        click.echo(_sentence(mistake), err=True)
        sys.exit(mistake.exit_code)
    except click.Abort:
        click.echo("grader: stopped", err=True)
        sys.exit(INTERRUPTED)
    except _REFUSALS as refusal:
        click.echo(f"grader: {refusal}", err=True)
        sys.exit(2)


def _sentence(mistake: click.ClickException) -> str:
    """What is wrong with the arguments, and where it says which ones there are."""
    context = getattr(mistake, "ctx", None)
    command = context.command_path if context else "grader"
    message = " ".join(mistake.format_message().split()).rstrip(".")
    advice = "" if message.endswith("?") else f"; see {command} --help"
    return f"{command}: {message[:1].lower()}{message[1:]}{advice}"
