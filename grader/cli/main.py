"""The command `grader`: its verbs, and how it says what went wrong."""

from __future__ import annotations

import sys

import click

import grader
from grader.assignment import BadAssignment
from grader.cli.batch import batch
from grader.cli.doctor import doctor
from grader.cli.freeze import freeze
from grader.cli.handout import handout
from grader.cli.options import NotIsolated
from grader.cli.run import run
from grader.cli.verify import verify_command
from grader.intake import NothingToGrade
from grader.judge.forkserver import ForkServerLost
from grader.store import StoreError

_REFUSALS = (BadAssignment, ForkServerLost, NotIsolated, NothingToGrade, StoreError)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(grader.__version__, prog_name="grader")
def cli() -> None:
    """Grades student PyTorch implementations: a folder of submissions in, grades out.

    \b
    Examples:
      grader batch submissions/ --out results/
      grader run submissions/alice
      grader handout student-files/
    """


for command in (batch, run, handout, freeze, verify_command, doctor):
    cli.add_command(command)


def main() -> None:
    """Runs the command line; a refusal is one sentence and exit code 2."""
    try:
        cli(prog_name="grader")
    except _REFUSALS as refusal:
        click.echo(f"grader: {refusal}", err=True)
        sys.exit(2)
