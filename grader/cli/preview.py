"""The lines that a batch prints before it grades: its submissions, and who handed in."""

from __future__ import annotations

from collections.abc import Sequence

from grader.cli.options import say
from grader.intake.entry import Discovery
from grader.intake.people import Attribution


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
