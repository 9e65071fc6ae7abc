"""`grader verify`: do the tests catch what they should, and only that?"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from grader.assignment import find_assignment
from grader.cli.options import assignment_option
from grader.verification import Trial, Verification, verify


@click.command("verify")
@assignment_option
def verify_command(assignment_folder: Path) -> None:
    """Runs every reference and every known mistake through the tests, and prints what came of it.

    Exits with 1 if a reference fails a test, if a mistake passes all of them or is given another's
    name, or if there is a test that nothing wrong fails.
    """
    verification = verify(find_assignment(assignment_folder))
    console = Console()
    console.print(_table(verification.trials))
    for line in _complaints(verification):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    named = sum(trial.named == trial.mistake for trial in verification.trials)
    click.echo(
        f"{len(verification.trials)} wrong functions: "
        f"{len(verification.trials) - len(verification.uncaught)} caught, {named} named, "
        f"{len(verification.misnamed)} misnamed"
    )
    sys.exit(0 if verification.holds else 1)


def _table(trials: Sequence[Trial]) -> Table:
    table = Table("mistake", "exercises", "ways", "caught", "named")
    by_mistake: dict[str, list[Trial]] = defaultdict(list)
    for trial in trials:
        by_mistake[trial.mistake].append(trial)
    for mistake, own in sorted(by_mistake.items()):
        exercises = len({trial.exercise for trial in own})
        caught = sum(bool(trial.caught_by) for trial in own)
        named = sum(trial.named == mistake for trial in own)
        table.add_row(mistake, *map(str, (exercises, len(own), caught, named)))
    return table


def _complaints(verification: Verification) -> list[str]:
    return [
        *(f"the reference fails {test}" for test in verification.unjust),
        *(f"{one.mistake} in {one.exercise} passes every test" for one in verification.uncaught),
        *(
            f"{one.mistake} in {one.exercise} is called {one.named}"
            for one in verification.misnamed
        ),
        *(f"nothing wrong fails {test}" for test in verification.idle),
    ]
