"""`grader report` writes pages; `grader tolerances` compares right and wrong answers' errors."""

from __future__ import annotations

import shlex
from pathlib import Path

import click
from rich.console import Console

from grader.cli.options import FOLDER, REPORT, RESULTS, details_option, say
from grader.reports.pages.changes import Changes
from grader.reports.pages.class_data import ClassData
from grader.reports.pages.rendering import NotWritten
from grader.reports.pages.report import Report, current_report, write_report
from grader.reports.suite_quality import in_words, print_tolerances, spreads
from grader.reports.summary import print_summary
from grader.results.anonymous import AnonymousResults
from grader.results.decisions.decision import BadDecisions
from grader.results.decisions.opening import open_settling
from grader.results.decisions.settling import Settling
from grader.results.results import Results
from grader.results.store import Store

ANONYMOUS = "report-anonymous"
STAYS_VISIBLE = (
    "names, ids and addresses of the class are replaced by numbers; other names that students use "
    "in their code or its output are not replaced"
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
@details_option
def report(
    folder: Path, out: Path | None, against: Path | None, anonymous: bool, details: bool
) -> None:
    """Prints a line for each person of a class, and writes pages that open from disk.

    \b
    Examples:
      grader report results/
      grader report results/ --details
      grader report regraded/ --against results/
      grader report results/ --anonymous

    The page of the class is for instructors. The page of a submission can be sent to its authors.
    The pages replace an earlier report in FOLDER.
    """
    if anonymous and against:
        raise click.UsageError("--anonymous shows one batch alone: leave out --against")
    results, place = Store.read(folder), out or folder / REPORT
    earlier = Store.read(against) if against else None
    if anonymous:
        results, place = AnonymousResults.of(results), out or folder / ANONYMOUS
        say(STAYS_VISIBLE)
    written = write_report(results, place, earlier)
    print_class(results, details)
    if written.changes is not None:
        click.echo(_changes_in_words(written.changes))
    print_next_steps(results, written)


def print_class(results: Results, details: bool) -> ClassData:
    """Prints a line for each person of a class; with `details`, the causes in full."""
    found = print_summary(results, readable_settling(results), Console(), details=details)
    if details:
        for line in in_words(found.suite.values(), spreads(results.grades())):
            click.echo(line)
    return found


def readable_settling(results: Results) -> Settling:
    """Returns the settled grades; without decisions, if the decisions cannot be read."""
    try:
        return open_settling(results)
    except BadDecisions:
        return open_settling(results, are_read=False)


def print_next_steps(results: Results, written: Report) -> None:
    """Prints the open decisions, the place of the report, and the command that exports grades."""
    folder = shlex.quote(str(results.folder))
    steps = [*written.decisions]
    if lacking := len(results.unexplained()):
        noun = "submission is" if lacking == 1 else "submissions are"
        steps.append((f"{lacking} {noun} not fully explained", "grader explain RESULTS"))
    steps.append(("hand grades on", "grader export RESULTS --format csv --out grades.csv"))
    shown = [(said, command.replace("RESULTS", folder)) for said, command in steps]
    shown.insert(-1, ("the class in full", str(written.index)))
    click.echo("\nnext:")
    for said, command in shown:
        click.echo(f"  {said}: {command}" if command else f"  {said}")


def write_pages(results: Results, found: ClassData | None = None) -> None:
    """Writes the pages of a folder of results, and prints the next steps.

    Pages of these very results stay if the class is already `found`. If the pages cannot be
    written, the grades are kept.
    """
    place = results.folder / REPORT
    try:
        known = current_report(results, found, place) if found else None
        print_next_steps(results, known or write_report(results, place))
    except BadDecisions as refusal:
        say(f"{refusal}\nno report is written until this is fixed; the grades are kept")
    except NotWritten as refusal:
        say(f"{refusal}; the grades are kept")


def _changes_in_words(changes: Changes) -> str:
    words = f"{len(changes.up)} up, {len(changes.down)} down, {changes.same} with the same score"
    for found, said in (
        (changes.regraded, "graded in one batch only"),
        (changes.new, "new"),
        (changes.gone, "only in the earlier batch"),
    ):
        words += f", {len(found)} {said}" if found else ""
    return words


@click.command(short_help="Show the distance between right and wrong answers.")
@RESULTS
def tolerances(folder: Path) -> None:
    """Shows the errors of a class's answers in each test, as multiples of the tolerance.

    \b
    Example:
      grader tolerances results/

    A tolerance is sound if the worst right answer and the nearest wrong one are far apart. Tests
    whose tolerance is in doubt are listed at the end.
    """
    print_tolerances(Store.read(folder).grades(), Console())
