"""`grader batch` grades a folder of submissions; `grader explain` adds the words it left out."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from grader.cli.commands.report import print_class, readable_settling, write_pages
from grader.cli.options import (
    FOLDER,
    INTERRUPTED,
    PATH,
    RESULTS,
    SECONDS,
    assignment_option,
    chosen_options,
    details_option,
    grading_options,
    isolation_in_words,
    jobs_option,
    say,
)
from grader.cli.progress import ProgressBar
from grader.core.assignment import find_assignment
from grader.core.names import natural_order, several
from grader.core.text import points, quantity
from grader.core.verdict import GradeStatus
from grader.grading.batch import Batch, open_batch, open_explanations
from grader.grading.cluster.connection import chosen_pools
from grader.grading.options import Explained, Pools
from grader.intake.discovery import discover
from grader.intake.entry import Discovery
from grader.intake.people import Attribution, attribute, read_roster
from grader.reports.package_needs import missing_in_words, not_preloaded_in_words
from grader.reports.summary import absent_in_words, labelled
from grader.results.store import Store


@click.command(short_help="Grade a class.")
@click.argument("paths", nargs=-1, required=True, type=PATH)
@click.option(
    "--out", required=True, type=FOLDER, metavar="RESULTS", help="Folder for the results."
)
@jobs_option("How many submissions are graded at a time.")
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Grade on the workers of this Dask scheduler; without --jobs, on all their threads.",
)
@click.option(
    "--roster",
    type=PATH,
    metavar="FILE.csv",
    help="The course's people: names, addresses, ids. Says who handed in nothing.",
)
@click.option("--fresh", is_flag=True, help="Grade everything again.")
@details_option
@grading_options
def batch(
    paths: tuple[Path, ...],
    out: Path,
    jobs: int | None,
    scheduler: str | None,
    roster: Path | None,
    fresh: bool,
    details: bool,
    assignment_folder: Path,
    no_explain: bool,
    require_isolation: bool,
    **chosen: Any,
) -> None:
    """Grades every submission in PATHS: folders whose entries are submissions, or downloads.

    \b
    Examples:
      grader batch submissions/ --out results/
      grader batch submissions.zip --roster students.csv --out results/
      grader batch clones/ --out results/ --adapters tests/adapters.py --jobs 8
      grader batch submissions/ --out results/ --scheduler tcp://10.0.0.5:8786

    Downloads of Canvas, Moodle or Gradescope are taken as they are, zipped or not, and so are the
    clones of GitHub Classroom.

    Results are kept in RESULTS as they arrive. Run the command again with the same RESULTS to grade
    only new or changed submissions, with the seed of the first run.
    """
    assignment, options = chosen_options(assignment_folder, paths, **chosen)
    people = None if roster is None else read_roster(roster)
    discovery = discover(paths, options.adapters, out)
    attribution = None if people is None else attribute(discovery.entries, people)
    if attribution is not None:
        discovery = attribution.applied_to(discovery)
    try:
        with (
            chosen_pools(scheduler, jobs, say, require_isolation, waits=say) as pools,
            open_batch(discovery, paths, out, assignment, options, fresh) as opened,
        ):
            say_what_was_found(discovery)
            if attribution is not None:
                absent = absent_in_words(readable_settling(Store.read(out)))
                say_who_handed_in(attribution, absent)
            _say_what_is_left(opened)
            _grade(opened, pools, explain=not no_explain)
            _say_whose_points_changed(opened)
    except KeyboardInterrupt:
        say("stopped: the grades so far are kept; run the command again to continue")
        sys.exit(INTERRUPTED)
    results = Store.read(out)
    found = print_class(results, details)
    if said := missing_in_words(results.lacking_packages()):
        click.echo(said)
    write_pages(results, found)
    sys.exit(1 if any(one.status is GradeStatus.NOT_GRADED for one in found.entries) else 0)


def _grade(opened: Batch, pools: Pools, explain: bool) -> None:
    """Grades what waits, with progress bars; then says which `preload` modules were missing."""
    layers = set[str]()
    not_preloaded: dict[str, str] = {}
    called = {one.name: labelled(one.name, one.authors) for one in opened.entries}
    with (
        ProgressBar("grading", begins=bool(opened.waiting)) as grading,
        ProgressBar("explaining", begins=False) as explaining,
        contextlib.closing(opened.results(pools, explain)) as results,
    ):
        for result in results:
            if isinstance(result, Explained):
                _count(explaining, result, opened.to_explain)
                continue
            told = isolation_in_words(result.isolation) if result.isolation else ""
            if told and told not in layers:  # once, unless machines of a cluster differ
                layers.add(told)
                say(f"isolation: {told}")
            total = len(opened.waiting)
            grading.count(str(result.status), called[result.submission], total)
            not_preloaded |= result.imports.not_preloaded
    for sentence in not_preloaded_in_words(not_preloaded):
        say(sentence)


def _count(explaining: ProgressBar, one: Explained, total: int) -> None:
    """Counts one more of `total` submissions, whether it is explained in full or in part."""
    outcome = "not fully explained" if one.words.missing else "explained"
    entry = one.task.entry
    explaining.count(outcome, labelled(entry.name, entry.authors), total)


def _say_whose_points_changed(opened: Batch) -> None:
    moved = [
        f"{name} {points(before)} -> {points(now)}" for name, (before, now) in opened.moved.items()
    ]
    if moved:
        shown = several(sorted(moved, key=natural_order))
        say(f"points changed for {quantity(len(moved), 'submission')}: {shown}")


def _say_what_is_left(opened: Batch) -> None:
    if opened.forgotten:
        gone = several(opened.forgotten)
        say(f"no longer handed in, and removed from the results: {gone}")
    if opened.kept:
        say(f"{opened.kept} graded before and unchanged; {len(opened.waiting)} to grade")
    elif opened.is_regrade:
        say("everything changed since the last run: every submission is graded again")


@click.command(short_help="Add explanations that are missing.")
@RESULTS
@jobs_option("How many submissions are explained at a time.")
@click.option(
    "--explain-timeout",
    type=SECONDS,
    metavar="SECONDS",
    help="Time for explaining one submission.  [default: that of the batch]",
)
@assignment_option
def explain(
    folder: Path, jobs: int | None, explain_timeout: float | None, assignment_folder: Path
) -> None:
    """Adds the explanations that are missing in RESULTS: mistakes, lines, pictures.

    \b
    Examples:
      grader explain results/
      grader explain results/ --jobs 4
      grader explain results/ --explain-timeout 60

    Use it after `grader batch --no-explain`, or if explaining took too long or was stopped. No
    grade is changed. The submissions must still be in the place where they were graded. If nothing
    that is missing can be added, the exit code is 1.
    """
    assignment, still = find_assignment(assignment_folder), 0
    try:
        with (
            chosen_pools(None, jobs, say, waits=say) as pools,
            open_explanations(folder, assignment, explain_timeout) as missing,
            ProgressBar("explaining", begins=False) as progress,
            contextlib.closing(missing.words(pools)) as words,
        ):
            if missing.changed:
                why = "changed or gone since they were graded, or graded by other tests"
                say(f"{why}; run grader batch over them first: {several(missing.changed)}")
            for one in words:
                _count(progress, one, missing.waiting)
                still += one.words.missing is not None
    except KeyboardInterrupt:
        say("stopped: the explanations so far are kept; run the command again to continue")
        sys.exit(INTERRUPTED)
    explained = quantity(missing.waiting - still, "submission")
    click.echo(f"{explained} explained, {still} with an incomplete explanation")
    write_pages(Store.read(folder))
    sys.exit(int(bool(missing.changed) and not missing.waiting))


def say_what_was_found(discovery: Discovery) -> None:
    """Prints on stderr the kind of each path, the skipped entries, and notes."""
    for kind in discovery.kinds:
        say(kind)
    for skipped in discovery.skipped:
        say(f"skipped {skipped.path.name!r}: {skipped.reason}")
    for note in discovery.notes:
        say(note)


def say_who_handed_in(attribution: Attribution, absentees: Sequence[str]) -> None:
    """Prints on stderr who handed in nothing, and which submissions no one on the roster wrote."""
    people = attribution.people
    if len(attribution.strangers) == len(attribution.entries):
        say(
            f"roster: no submission is known to be by one of its {people} people. Does it have a "
            "column with the names or ids of the submissions?"
        )
        return
    say(f"roster: {people - len(absentees)} of {people} people handed in")
    if absentees:
        say(f"handed in nothing: {'; '.join(absentees)}")
    if attribution.strangers:
        say(f"by nobody on the roster: {', '.join(attribution.strangers)}")
    for note in attribution.notes:
        say(note)
