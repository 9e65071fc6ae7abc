"""`grader alike` shows which submissions have rare code in common."""

from __future__ import annotations

import functools
from pathlib import Path

import click

from grader.cli.commands.report import STAYS_VISIBLE
from grader.cli.options import FOLDER, PATH, RESULTS, assignment_option, say
from grader.cli.progress import ProgressBar
from grader.core.assignment import find_assignment
from grader.reports.similarity.comparison import compare, write_alike
from grader.results.anonymous import AnonymousResults
from grader.results.store import Store

_MOST_PRINTED = 5
_ALIKE, _ALIKE_ANONYMOUS = "alike", "alike-anonymous"


@click.command(short_help="Show which submissions have code in common.")
@RESULTS
@click.option(
    "--with",
    "others",
    type=PATH,
    multiple=True,
    metavar="OTHER",
    help="Compare with another class as well: its results, or a folder or download of "
    "submissions; may be repeated.",
)
@click.option(
    "--against",
    "repositories",
    type=PATH,
    multiple=True,
    metavar="REPO",
    help="Compare with code that lies here as one folder or archive, a repository that you "
    "cloned for instance; may be repeated.",
)
@click.option(
    "--given",
    type=PATH,
    multiple=True,
    metavar="PATH",
    help="Other code that the course gave to everybody: it is not compared; may be repeated.",
)
@click.option(
    "--out", type=FOLDER, metavar="FOLDER", help="Where the pages go.  [default: RESULTS/alike]"
)
@click.option(
    "--anonymous",
    is_flag=True,
    help="Write the numbers of `grader report --anonymous` in place of names, into "
    "RESULTS/alike-anonymous.",
)
@assignment_option
def alike(
    folder: Path,
    others: tuple[Path, ...],
    repositories: tuple[Path, ...],
    given: tuple[Path, ...],
    out: Path | None,
    anonymous: bool,
    assignment_folder: Path,
) -> None:
    """Writes pages that show which submissions have code in common that few others have.

    \b
    Examples:
      grader alike results/
      grader alike results/ --with ../last-year/results/ --against ../a-public-solution/

    Names, comments and the order of code do not matter. Everything is computed on this machine.
    The pages are for instructors, and prove nothing: some pair is always the most alike. The
    submissions must still be in the place where they were graded.
    """
    if anonymous and others:
        raise click.UsageError("--anonymous has numbers for this class alone: leave out --with")
    results = Store.read(folder)
    assignment = find_assignment(assignment_folder)
    mask = AnonymousResults.of(results).mask if anonymous else None
    place = folder / (_ALIKE_ANONYMOUS if anonymous else _ALIKE)
    if anonymous:
        say(STAYS_VISIBLE)
    with ProgressBar("reading") as progress:
        advance = functools.partial(progress.count, "read", "")
        comparison = compare(
            results, assignment, others, repositories, given, mask=mask, advance=advance
        )
    redacted = mask.text if mask else str
    index = write_alike(results.assignment, comparison, out or place, redacted)
    for remark in comparison.remarks:
        say(remark)
    for found in comparison.pairs[:_MOST_PRINTED]:
        origin = f" ({found.other.origin})" if found.other.origin else ""
        said = f"{found.one.name} and {found.other.name}{origin}"
        click.echo(f"{round(100 * found.pair.similarity):3} %  {said}")
    if comparison.pairs:
        usual = round(100 * comparison.usual)
        click.echo(f"a submission and the nearest other one are usually {usual} % alike")
    click.echo(f"alike: {index}")
