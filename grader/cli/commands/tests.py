"""`grader tests` and `grader tolerances`: how well an assignment's tests tell right from wrong."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console

from grader.cli.options import FOLDER
from grader.reports.suite_quality import exercises_of, in_words, print_tolerances
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


@click.command(short_help="Show how far right and wrong answers are apart.")
@click.argument("folder", metavar="DIR", type=FOLDER)
def tolerances(folder: Path) -> None:
    """Shows how far the answers of a class were off in each test, from the results in DIR.

    A tolerance is sound if the worst right answer and the nearest wrong one are far apart; tests
    where they are not are listed at the end.

    \b
    Example:
      grader tolerances results/
    """
    print_tolerances(Store.read(folder).grades(), Console())
