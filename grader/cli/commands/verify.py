"""`grader verify`: do the tests catch what they should, and only that?"""

from __future__ import annotations

import sys
import textwrap
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
import rich.progress
from rich.console import Console
from rich.table import Table

from grader.assignment import find_assignment
from grader.cli.options import assignment_option
from grader.processors import processors

if TYPE_CHECKING:
    from grader.verification import Trial, Verification


@click.command("verify", short_help="Check the tests against every known mistake.")
@assignment_option
@click.option("--tests", "by_test", is_flag=True, help="Also print what each test catches.")
@click.option("--edits", is_flag=True, help="Try small edits of the right programs instead.")
@click.option(
    "--jobs",
    type=click.IntRange(1),
    metavar="N",
    show_default="one for each processor",
    help="How many edits are tried at a time.",
)
@click.option(
    "--exercise",
    "exercises",
    multiple=True,
    metavar="NAME",
    help="With --edits: this exercise only; may be repeated.",
)
def verify_command(
    assignment_folder: Path, by_test: bool, edits: bool, jobs: int | None, exercises: Sequence[str]
) -> None:
    """Runs references, right variants and known mistakes through the tests, and prints what came.

    Exits with 1 if a reference or a right variant fails a test, if a mistake passes all of them or
    is given another's name, if there is a test that nothing wrong fails, or one of values that
    remembered answers pass, or if an exercise is said to build on one with which it shares no
    mistake.

    With --edits, the wrong programs are small edits of the references and of the right variants,
    one at a time. Prints those that pass all tests and yet answer otherwise, as differences, and
    exits with 1 if there is one. Why one of them need not be caught can be said in
    solutions/edits.toml.

    \b
    Examples:
      grader verify
      grader verify --tests
      grader verify --edits --jobs 4
      grader verify --edits --exercise run_rope
      grader verify --assignment examples/feed_forward
    """
    if edits:
        sys.exit(_try_edits(assignment_folder, jobs or processors(), exercises))
    if exercises:
        raise click.UsageError("--exercise goes with --edits: without, all are looked at together")
    from grader.verification import verify  # torch takes a second to load

    verification = verify(find_assignment(assignment_folder))
    console = Console()
    if by_test:
        for line in _by_test(verification):
            console.print(line, markup=False, highlight=False, soft_wrap=True)
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


def _try_edits(assignment_folder: Path, jobs: int, exercises: Sequence[str]) -> int:
    """Tries edits, prints what came of them, and returns how the command is to end."""
    from grader.mutation.mutation import mutate  # torch takes a second to load
    from grader.mutation.wording import in_words

    assignment = find_assignment(assignment_folder)
    unknown = [name for name in exercises if name not in assignment.points]
    if unknown:
        known = ", ".join(assignment.points)
        raise click.UsageError(f"the assignment has no exercise {unknown[0]}: {known}")
    console = Console(stderr=True)
    shown = rich.progress.Progress(console=console, transient=True, disable=not console.is_terminal)
    with shown:
        task = shown.add_task("edits")
        mutations = mutate(
            assignment,
            jobs,
            lambda done, total: shown.update(task, completed=done, total=total),
            exercises,
        )
    for line in in_words(mutations):
        click.echo(line)
    return 0 if mutations.holds else 1


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


def _by_test(verification: Verification) -> Iterator[str]:
    """Each test, and below it what it catches."""
    for test, mistakes in sorted(verification.catches.items()):
        yield test
        yield textwrap.fill(", ".join(mistakes), initial_indent="    ", subsequent_indent="    ")


def _complaints(verification: Verification) -> list[str]:
    return [
        *(f"the reference fails {test}" for test in verification.unjust),
        *(f"the right variant {name!r} fails {test}" for name, test in verification.narrow),
        *(f"{one.mistake} in {one.exercise} passes every test" for one in verification.uncaught),
        *(
            f"{one.mistake} in {one.exercise} is called {one.named}"
            for one in verification.misnamed
        ),
        *(f"nothing wrong fails {test}" for test in verification.idle),
        *(
            f"answers remembered from another draw pass {test}: let it draw what it asks for"
            for test in verification.remembered
        ),
        *(
            f"BUILDS_ON says that {exercise} builds on {below}, and no mistake is known in both"
            for exercise, below in verification.apart
        ),
        *(
            f"{mistake} does not answer in {exercise} as solutions/seen/{mistake}.toml says that a "
            "class did: list it in MISTAKES, with a variant that does"
            for mistake, exercise in verification.unlike
        ),
    ]
