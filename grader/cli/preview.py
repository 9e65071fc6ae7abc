"""The lines that a batch prints before it grades: its submissions, and their packages."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from grader.cli.options import say
from grader.core.text import quantity
from grader.intake.client import survey
from grader.intake.entry import Discovery, Entry
from grader.intake.people import Attribution
from grader.reports.package_needs import PackageNeed, needs_in_words, needs_of


def say_what_was_found(discovery: Discovery) -> None:
    """Prints on stderr the kind of each path, the skipped entries, and notes."""
    for kind in discovery.kinds:
        say(kind)
    for skipped in discovery.skipped:
        say(f"skipped {skipped.path.name!r}: {skipped.reason}")
    for note in discovery.notes:
        say(note)


def say_who_handed_in(attribution: Attribution, absentees: Sequence[str]) -> None:
    """Prints on stderr the absentees of the class, and the submissions of nobody on the roster."""
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


def package_needs(entries: Sequence[Entry], assignment: Path, adapters: str) -> list[PackageNeed]:
    """Returns the packages that submissions import, the most imported first."""
    own = {path.stem for path in assignment.iterdir()}
    return needs_of(survey(entries, adapters), own) if entries else []


def print_package_needs(needs: Sequence[PackageNeed], submissions: int, console: Console) -> None:
    """Prints a table of all imports of the submissions, then the command to install them."""
    title = f"packages of {quantity(submissions, 'submission')}"
    table = Table("package", "imported by", "here", title=title, title_justify="left")
    for need in needs:
        table.add_row(Text(need.package), str(need.importing), _state(need))
    console.print(table)
    for sentence in needs_in_words(needs):
        click.echo(sentence)
    if not any(need.is_missing for need in needs):
        click.echo("nothing is missing")


def _state(need: PackageNeed) -> Text:
    if need.is_here:
        return Text("installed", style="green")
    return Text("not needed") if need.is_replaced else Text("not installed", style="red")
