"""What a batch says before it grades: what was found, and who handed it in."""

from __future__ import annotations

import click

from grader.intake.attribution import Attribution
from grader.intake.entry import Discovery
from grader.reports.people import author_in_words


def say_what_was_found(discovery: Discovery) -> None:
    """Says on stderr what each path was taken for, what was skipped and what is to be known."""
    for kind in discovery.kinds:
        click.echo(kind, err=True)
    for skipped in discovery.skipped:
        click.echo(f"skipped {skipped.path.name!r}: {skipped.reason}", err=True)
    for note in discovery.notes:
        click.echo(note, err=True)


def say_who_handed_in(attribution: Attribution) -> None:
    """Says on stderr who of the roster's people handed in nothing, and what is nobody's."""
    people = attribution.people
    if len(attribution.strangers) == len(attribution.entries):
        click.echo(
            f"roster: none of the submissions is known to be by one of its {people} people; "
            "has it a column with the names or ids that the submissions go by?",
            err=True,
        )
        return
    absentees, strangers = attribution.absentees, attribution.strangers
    click.echo(f"roster: {people - len(absentees)} of {people} people handed in", err=True)
    if absentees:
        click.echo(f"handed in nothing: {'; '.join(map(author_in_words, absentees))}", err=True)
    if strangers:
        click.echo(f"by nobody on the roster: {', '.join(strangers)}", err=True)
    for note in attribution.notes:
        click.echo(note, err=True)
