"""`grader tolerances`: is there room between right answers and wrong ones?"""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console

from grader.cli.options import FOLDER
from grader.reports.tolerances import print_tolerances
from grader.results.store import Store


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
