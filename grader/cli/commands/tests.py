"""`grader tests`: what a class says of the tests."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli.options import FOLDER
from grader.reports.weak_tests import exercises_of, in_words
from grader.results.store import Store


@click.group("tests", short_help="Show what a class says of the tests.")
def tests() -> None:
    """Shows what the results of a class say of the tests.

    \b
    Example:
      grader tests weak results/
    """


@tests.command("weak", short_help="List tests that speak against themselves.")
@click.argument("folder", metavar="DIR", type=FOLDER)
def weak(folder: Path) -> None:
    """Lists, from the results in DIR, exercises and tests to look at before grades go out.

    Exercises that are graded by few tests which tell anybody apart; tests that fail for those who
    pass all others of the exercise; tests that nobody passes.

    \b
    Example:
      grader tests weak results/
    """
    for line in in_words(exercises_of(Store.read(folder).grades())):
        click.echo(line)
