"""`grader tolerances`: how far right and wrong answers of a class are apart."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console

from grader.cli.options import RESULTS
from grader.reports.suite_quality import print_tolerances
from grader.results.store import Store


@click.command(short_help="Show how far right and wrong answers are apart.")
@RESULTS
def tolerances(folder: Path) -> None:
    """Shows how far the answers of a class were off in each test.

    \b
    Example:
      grader tolerances results/

    A tolerance is sound if the worst right answer and the nearest wrong one are far apart; tests
    where they are not are listed at the end.
    """
    print_tolerances(Store.read(folder).grades(), Console())
