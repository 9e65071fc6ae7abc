"""`grader explain`: the explanations that are missing in a folder of results."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

import click

from grader.cli.commands.report import write_pages
from grader.cli.options import INTERRUPTED, RESULTS, assignment_option, jobs_option, say
from grader.cli.progress import ExplainingProgress
from grader.core.assignment import find_assignment
from grader.core.names import several
from grader.core.text import quantity
from grader.grading.batch import MissingExplanations, explain_folder
from grader.grading.cluster.connection import chosen_pools
from grader.results.store import Store


@click.command(short_help="Add explanations that are missing.")
@RESULTS
@jobs_option("How many submissions are explained at a time.")
@assignment_option
def explain(folder: Path, jobs: int | None, assignment_folder: Path) -> None:
    """Adds the explanations that are missing in RESULTS: mistakes, lines, pictures.

    \b
    Examples:
      grader explain results/
      grader explain results/ --jobs 4

    Use it after `grader batch --no-explain`, or if explaining took too long or was stopped. No
    grade is changed. The submissions must still be in the place where they were graded.
    """
    assignment = find_assignment(assignment_folder)
    total = 0

    def begin(explanation: MissingExplanations) -> None:
        nonlocal total
        total = explanation.waiting
        if explanation.changed:
            gone = several(explanation.changed)
            say(f"changed or gone since they were graded, or graded by other tests: {gone}")

    still = 0
    try:
        with (
            chosen_pools(None, jobs, say, waits=say) as pools,
            ExplainingProgress() as progress,
            contextlib.closing(explain_folder(folder, assignment, pools, begin)) as words,
        ):
            for one in words:
                progress.advance(one, total)
                still += one.words.missing is not None
    except KeyboardInterrupt:
        say("stopped: the explanations so far are kept; run the command again to continue")
        sys.exit(INTERRUPTED)
    explained = quantity(total - still, "submission")
    click.echo(f"{explained} explained, {still} with an incomplete explanation")
    write_pages(Store.read(folder))
