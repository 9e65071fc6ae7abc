"""`grader report`: pages to look at."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli.options import FOLDER, RESULTS
from grader.reports.pages.changes import Changes
from grader.reports.pages.rendering import INDEX, NotWritten
from grader.reports.pages.report import is_current, write_report
from grader.reports.suite_quality import exercises_of, in_words
from grader.results.anonymous import AnonymousResults
from grader.results.decisions.decision import BadDecisions
from grader.results.store import Store

NAME = "report"
ANONYMOUS = "report-anonymous"
BY_THEMSELVES = (
    "names, ids and addresses of the class are numbers; what students call themselves otherwise, "
    "in their code or what it prints, stays as it is"
)


@click.command(short_help="Write the page of a class, and one for each person.")
@RESULTS
@click.option(
    "--out", type=FOLDER, metavar="FOLDER", help="Where the pages go.  [default: RESULTS/report]"
)
@click.option(
    "--against",
    type=FOLDER,
    metavar="OTHER",
    help="Results of an earlier batch: a page says who went up or down since, and why.",
)
@click.option(
    "--anonymous",
    is_flag=True,
    help="Numbers in place of names, into RESULTS/report-anonymous; `grader decide` takes them.",
)
@click.option("--details", is_flag=True, help="Also list the tests that may be faulty.")
def report(
    folder: Path, out: Path | None, against: Path | None, anonymous: bool, details: bool
) -> None:
    """Writes the results as pages that open from disk.

    \b
    Examples:
      grader report results/
      grader report regraded/ --against results/
      grader report results/ --anonymous

    A page of the class for instructors, and one of each submission that can be sent to whom it
    belongs. Only FOLDER is written to, in place of the report that is there.
    """
    results, place = Store.read(folder), out or folder / NAME
    earlier = Store.read(against) if against else None
    if anonymous:
        results, place = AnonymousResults.of(results), out or folder / ANONYMOUS
        earlier = results.beside(earlier) if earlier else None
        click.echo(BY_THEMSELVES, err=True)
    if details:
        for line in in_words(exercises_of(results.grades())):
            click.echo(line)
    written = write_report(results, place, earlier)
    if written.changes is not None:
        click.echo(_changes_in_words(written.changes))
    click.echo(f"report: {written.index}")


def write_pages(results: Path) -> None:
    """Writes the pages of a folder of results, unless they are there, and says where they are.

    The grades are kept whatever becomes of these.
    """
    found, folder = Store.read(results), results / NAME
    try:
        if not is_current(found, folder):
            write_report(found, folder)
        click.echo(f"report:  {folder / INDEX}")
    except BadDecisions as refusal:
        said = f"{refusal}\nno report is written until this is fixed; the grades are kept"
        click.echo(said, err=True)
    except NotWritten as refusal:
        click.echo(f"{refusal}; the grades are kept", err=True)


def _changes_in_words(changes: Changes) -> str:
    words = (
        f"{len(changes.up)} up, {len(changes.down)} down, "
        f"{len(changes.alike) + changes.same} with the same score"
    )
    for found, said in (
        (changes.regraded, "graded in one of the two only"),
        (changes.new, "new"),
        (changes.gone, "gone"),
    ):
        words += f", {len(found)} {said}" if found else ""
    return words
