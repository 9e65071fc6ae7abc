"""`grader verify`: the check that the tests catch every mistake and nothing else."""

from __future__ import annotations

import sys
import textwrap
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.table import Table

from grader.cli.options import assignment_option, jobs_option
from grader.cli.progress import ProgressBar
from grader.core.assignment import find_assignment
from grader.core.processes import processors

if TYPE_CHECKING:
    from grader.authoring.verification import MistakeTrial, Verification


@click.command("verify", short_help="Check the tests against every known mistake.")
@assignment_option
@click.option("--tests", "by_test", is_flag=True, help="Also print what each test catches.")
@click.option("--edits", is_flag=True, help="Try small edits of the references instead.")
@click.option(
    "--seeds",
    type=click.IntRange(2),
    metavar="N",
    help="Grade right and wrong functions under N seeds instead; print what depends on the seed.",
)
@jobs_option("With --edits or --seeds: how many are tried at a time.")
@click.option(
    "--exercise",
    "exercises",
    multiple=True,
    metavar="NAME",
    help="With --edits or --seeds: this exercise only; may be repeated.",
)
def verify_command(
    assignment_folder: Path,
    by_test: bool,
    edits: bool,
    seeds: int | None,
    jobs: int | None,
    exercises: Sequence[str],
) -> None:
    """Runs references, right variants and known mistakes through the tests, and prints the results.

    \b
    Examples:
      grader verify
      grader verify --tests
      grader verify --seeds 50
      grader verify --seeds 2 --exercise run_rope
      grader verify --edits --jobs 4
      grader verify --edits --exercise run_rope
      grader verify --assignment examples/feed_forward

    \b
    Exits with 1 if one of these is true:
      - A reference or a right variant fails a test.
      - A mistake passes all tests, or is given another mistake's name.
      - There is a test that no wrong function fails.
      - Answers remembered from another draw pass a test of values.
      - An exercise is said to build on another one, but they share no mistake.
      - A mistake of solutions/seen/ has no variant with the class's answers.
      - A forbidden name does not exist.
      - Fixtures are older than tests, points, references, mistakes or slips: run grader freeze.

    Tries the examples of solutions/slips.toml first, and exits with 2 if one does not work.

    With --edits, the wrong programs are small edits of the references, one at a time. Prints the
    edits that pass all tests but give other answers, as differences, and exits with 1 if there is
    one. In solutions/edits.toml you can argue why an edit need not be caught.

    With --seeds N, the references, right variants and known mistakes are graded under the seeds
    1 to N. Prints the tests that a right function fails, or that a wrong one fails with only some
    of the seeds. Exits with 1 if a right function fails a test, if a wrong one passes every test,
    or if a score depends on the seed.
    """
    if edits and seeds:
        raise click.UsageError("--edits and --seeds cannot be combined: give one of them")
    if by_test and (edits or seeds):
        raise click.UsageError("--tests goes with neither --edits nor --seeds")
    if jobs and not (edits or seeds):
        raise click.UsageError("--jobs needs --edits or --seeds")
    if edits or seeds:
        sys.exit(_try(assignment_folder, jobs or processors(), exercises, seeds))
    if exercises:
        raise click.UsageError(
            "--exercise needs --edits or --seeds: without them all exercises are verified together"
        )
    from grader.authoring.verification import verify  # torch takes a second to load

    verification = verify(find_assignment(assignment_folder))
    console = Console()
    if by_test:
        for line in _by_test(verification):
            console.print(line, markup=False, highlight=False, soft_wrap=True)
    mistakes = [trial for trial in verification.trials if not trial.is_habit]
    habits = [trial for trial in verification.trials if trial.is_habit]
    console.print(_table("mistake", mistakes))
    if habits:
        console.print(_table("habit", habits))
    for line in (*_unnamed(mistakes), *verification.complaints):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    click.echo(_in_short(mistakes, habits, len(verification.misnamed)))
    sys.exit(1 if verification.complaints else 0)


def _try(assignment_folder: Path, jobs: int, exercises: Sequence[str], seeds: int | None) -> int:
    """Tries seeds or else edits, prints the results, and returns the exit code."""
    from grader.authoring.mutation import in_words, mutate  # torch takes a second to load
    from grader.authoring.seeds import steadiness

    assignment = find_assignment(assignment_folder)
    unknown = [name for name in exercises if name not in assignment.points]
    if unknown:
        known = ", ".join(assignment.points)
        raise click.UsageError(f"the assignment has no exercise {unknown[0]}: {known}")
    with ProgressBar("seeds" if seeds else "edits") as progress:

        def advance(_: int, total: int) -> None:
            progress.count("tried", "", total)

        if seeds:
            found = steadiness(assignment, seeds, jobs, advance, exercises)
            lines, holds = found.in_words(), found.holds
        else:
            mutations = mutate(assignment, jobs, advance, exercises)
            lines, holds = in_words(mutations), mutations.holds
    for line in lines:
        click.echo(line)
    return 0 if holds else 1


def _table(kind: str, trials: Sequence[MistakeTrial]) -> Table:
    """Returns the table of how often each mistake or habit was caught.

    A habit gives right values, so no diagnosis names it and its table has no such column.
    """
    is_named = kind == "mistake"
    table = Table(kind, "exercises", "ways", "caught", *(["named"] if is_named else []))
    by_mistake: dict[str, list[MistakeTrial]] = defaultdict(list)
    for trial in trials:
        by_mistake[trial.mistake].append(trial)
    for mistake, own in sorted(by_mistake.items()):
        counts = [len({trial.exercise for trial in own}), len(own), _caught(own)]
        counts += [sum(trial.named == mistake for trial in own)] if is_named else []
        table.add_row(mistake, *map(str, counts))
    return table


def _unnamed(mistakes: Sequence[MistakeTrial]) -> Iterator[str]:
    """Yields the ways to make each mistake, if one of them is caught without being named."""
    of_one: dict[tuple[str, str], list[MistakeTrial]] = defaultdict(list)
    for trial in mistakes:
        of_one[trial.mistake, trial.exercise].append(trial)
    for (mistake, exercise), own in sorted(of_one.items()):
        if any(trial.caught_by and trial.named is None for trial in own):
            ways = "; ".join(f"way {trial.way}: {_outcome(trial)}" for trial in own)
            yield f"{mistake} in {exercise}, {ways}"


def _outcome(trial: MistakeTrial) -> str:
    if trial.named is not None:
        return "named" if trial.named == trial.mistake else f"called {trial.named}"
    return f"caught, and not named: {trial.unnamed}" if trial.caught_by else "not caught"


def _caught(trials: Sequence[MistakeTrial]) -> int:
    return sum(bool(trial.caught_by) for trial in trials)


def _in_short(
    mistakes: Sequence[MistakeTrial], habits: Sequence[MistakeTrial], misnamed: int
) -> str:
    """Returns the last line: how many wrong functions were caught, named and misnamed."""
    named = sum(trial.named == trial.mistake for trial in mistakes)
    said = (
        f"{len(mistakes)} wrong functions: {_caught(mistakes)} caught, {named} named, "
        f"{misnamed} misnamed"
    )
    return f"{said}; {len(habits)} with habits: {_caught(habits)} caught" if habits else said


def _by_test(verification: Verification) -> Iterator[str]:
    """Yields the lines of each test: its id, then the mistakes that it catches."""
    for test, mistakes in sorted(verification.catches.items()):
        yield test
        yield textwrap.fill(", ".join(mistakes), initial_indent="    ", subsequent_indent="    ")
