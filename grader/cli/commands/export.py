"""`grader export` and `grader feedback`: grades and words, in forms that platforms take back."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

import click
from click.core import ParameterSource

from grader.cli.options import FILE, FOLDER, RESULTS, say
from grader.core.names import several
from grader.core.text import enumerated, quantity
from grader.reports.export.filling import Choices
from grader.reports.export.formats import FORMATS, export_of
from grader.reports.export.scores import ExportRefused, refuse_results, write_whole
from grader.reports.feedback import FORMS, README, TO_SOME, write_feedback
from grader.results.decisions.opening import open_settling
from grader.results.store import Store

_STDOUT = Path("-")
# Submissions without feedback that are named, for each reason.
_SHOWN = 20
# The formats to which each option applies.
_TAKEN_BY = {
    "--template": {"canvas", "moodle"},
    "--column": {"canvas", "moodle"},
    "--points": {"csv", "canvas"},
    "--absent-zero": {"csv", "canvas", "moodle"},
    "--no-scale": {"canvas", "moodle"},
    "--feedback": {"moodle"},
}


@click.command(short_help="Write grades as platforms take them.")
@RESULTS
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    required=True,
    help="What to write.",
)
@click.option(
    "--template",
    type=FILE,
    help="Your own gradebook export (canvas) or grading worksheet (moodle), to be filled in.",
)
@click.option(
    "--out",
    "output",
    type=FILE,
    default=_STDOUT,
    metavar="FILE",
    help="Where to write it (default: -, standard output).",
)
@click.option(
    "--points",
    type=click.Choice(["exercise", "total"]),
    help="A column for each exercise or for the total alone (default: csv exercise, canvas total).",
)
@click.option(
    "--column",
    metavar="TITLE",
    help="The template's column to fill (default: the assignment's, if that is certain).",
)
@click.option(
    "--absent-zero",
    is_flag=True,
    help="0 points for those of the roster who handed in nothing (default: left blank).",
)
@click.option(
    "--no-scale", is_flag=True, help="Points as they are, whatever the platform's maximum is."
)
@click.option("--feedback", is_flag=True, help="Fill in a few words of feedback as well (moodle).")
def export(
    folder: Path,
    form: str,
    template: Path | None,
    output: Path,
    points: str | None,
    column: str | None,
    absent_zero: bool,
    no_scale: bool,
    feedback: bool,
) -> None:
    """Writes the grades in RESULTS, the folder of a batch's results, in another format.

    \b
    Examples:
      grader export results/ --format csv --out grades.csv
      grader export results/ --format canvas --template gradebook.csv --out upload.csv
      grader export results/ --format moodle --template worksheet.csv --out upload.csv

    Points are rounded to two decimals. Submissions that were not graded are left blank. Standard
    error lists them, and all other points that are missing in the export. Exit code 0: all points
    are in the export; 1: some are not; 2: nothing was written.
    """
    source = click.get_current_context().get_parameter_source
    for option, forms in _TAKEN_BY.items():
        is_given = source(option[2:].replace("-", "_")) is not ParameterSource.DEFAULT
        if is_given and form not in forms:
            formats = enumerated(sorted(forms))
            raise ExportRefused(f"{option} is for --format {formats}, not for {form}")
    if template and _are_same(template, output):
        raise ExportRefused(
            f"{output} is the template itself: name another --out, so that yours stays as it is"
        )
    choices = Choices(
        column=column,
        by_exercise=None if points is None else points == "exercise",
        absent_zero=absent_zero,
        scale=not no_scale,
        feedback=feedback,
    )
    results = Store.read(folder)
    settling = open_settling(results)
    exported = export_of(form, results, settling, template, choices)
    if output == _STDOUT:
        click.echo(exported.text.encode(), nl=False)
    else:
        refuse_results(output)
        with contextlib.suppress(OSError):  # a link stays
            output = output.resolve() if output.is_file() else output
        write_whole(output, exported.text)
    for remark in exported.remarks:
        say(str(remark))
    sys.exit(int(any(remark.lost for remark in exported.remarks)))


def _are_same(template: Path, output: Path) -> bool:
    try:
        return template.samefile(output)
    except OSError:  # one of them is not there
        return False


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
    README.txt says where to upload. Standard error lists the people without feedback of their own.
    Exit code 0: all have theirs; 1: some have not.
    """
    results = Store.read(folder)
    place = out or folder / f"feedback-{form}"
    written = write_feedback(results, open_settling(results), form, place, pdf)
    without: dict[str, list[str]] = {}
    for one in written.left_out:
        without.setdefault(one.reason, []).append(one.submission)
    for reason, names in without.items():
        kind = "not for everybody" if reason == TO_SOME else "without feedback"
        say(f"{kind}: {several(names, shown=_SHOWN)}: {reason}")
    click.echo(f"feedback of {quantity(written.written, 'submission')}: {written.place}")
    click.echo(f"how it is handed back: {place / README}")
    sys.exit(int(bool(written.left_out)))
