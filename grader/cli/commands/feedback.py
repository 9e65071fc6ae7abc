"""`grader feedback`: the feedback for each person, in a form that platforms take back."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from grader.cli.options import FOLDER, RESULTS, say
from grader.core.names import several
from grader.core.text import quantity
from grader.reports.feedback import FORMS, README, write_feedback
from grader.results.decisions.opening import open_settling
from grader.results.store import Store

_SHOWN = 20


@click.command(short_help="Write each person's feedback, as platforms take it back.")
@RESULTS
@click.option(
    "--format",
    "form",
    type=click.Choice([*FORMS]),
    default="folders",
    show_default=True,
    help="For a platform, a mail merge, or one folder for each submission.",
)
@click.option(
    "--out",
    type=FOLDER,
    metavar="FOLDER",
    help="Where it goes.  [default: RESULTS/feedback-FORMAT]",
)
@click.option(
    "--pdf", is_flag=True, help="As PDF too, printed by this machine's Chromium or Chrome."
)
def feedback(folder: Path, form: str, out: Path | None, pdf: bool) -> None:
    """Writes the feedback of each submission in RESULTS separately.

    \b
    Examples:
      grader feedback results/ --format canvas
      grader feedback results/ --format mail
      grader feedback results/ --pdf --out feedback/

    Files are named as in the platform's download, so that one upload hands all feedback back. A
    README.txt says where to upload. Standard error lists the submissions without feedback. Exit
    code 0: all submissions have feedback; 1: some have none.
    """
    results = Store.read(folder)
    place = out or folder / f"feedback-{form}"
    written = write_feedback(results, open_settling(results), form, place, pdf)
    without: dict[str, list[str]] = {}
    for one in written.left_out:
        without.setdefault(one.reason, []).append(one.submission)
    for reason, names in without.items():
        say(f"without feedback: {several(names, shown=_SHOWN)}: {reason}")
    click.echo(f"feedback of {quantity(written.written, 'submission')}: {written.place}")
    click.echo(f"how it is handed back: {place / README}")
    sys.exit(int(bool(written.left_out)))
