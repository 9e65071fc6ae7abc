"""What is said of a class's needs before it is graded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from grader.intake.entry import Entry
from grader.intake.surveying import survey
from grader.reports.environment import PackageNeed, needs_in_words, needs_of


def what_is_needed(entries: Sequence[Entry], assignment: Path, adapters: str) -> list[PackageNeed]:
    """What submissions import of installed packages, the most of it first."""
    own = {path.stem for path in assignment.iterdir()}
    return needs_of(survey(entries, adapters), own) if entries else []


def say_what_is_needed(entries: Sequence[Entry], assignment: Path, adapters: str) -> None:
    """Says on stderr what is not installed here of what submissions import."""
    for sentence in needs_in_words(what_is_needed(entries, assignment, adapters)):
        click.echo(sentence, err=True)


def print_what_is_needed(needs: Sequence[PackageNeed], many: int, console: Console) -> None:
    """A table of all that submissions import, then what is to be done about it."""
    title = f"what {many} submission{'s' if many != 1 else ''} import"
    table = Table(
        "package", "imported by", "declared by", "here", title=title, title_justify="left"
    )
    for need in needs:
        numbers = (str(need.importing), str(need.declaring))
        table.add_row(Text(need.package), *numbers, _state(need))
    console.print(table)
    for sentence in needs_in_words(needs):
        click.echo(sentence)
    if not any(need.is_wanted for need in needs):
        click.echo("nothing is lacking")


def _state(need: PackageNeed) -> Text:
    if need.is_here:
        return Text("installed", style="green")
    return Text("done without") if need.is_spared else Text("not installed", style="red")
