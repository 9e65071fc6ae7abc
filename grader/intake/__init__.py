"""Taking in what was handed in: finding submissions, copying them privately, running nothing."""

from grader.intake.client import IntakeClient
from grader.intake.copying.limits import Allowance, Limits
from grader.intake.copying.private_copy import CopyFailed, is_of_the_machine
from grader.intake.copying.staging import take_in
from grader.intake.discovery import discover, single
from grader.intake.entry import Discovery, Entry, NothingToGrade, Piece, Skipped
from grader.intake.fingerprint import fingerprint
from grader.intake.people.attribution import Attribution, attribute
from grader.intake.people.roster import BadRoster, Person, read_roster
from grader.intake.surveying import survey

__all__ = [
    "Allowance",
    "Attribution",
    "BadRoster",
    "CopyFailed",
    "Discovery",
    "Entry",
    "IntakeClient",
    "Limits",
    "NothingToGrade",
    "Person",
    "Piece",
    "Skipped",
    "attribute",
    "discover",
    "fingerprint",
    "is_of_the_machine",
    "read_roster",
    "single",
    "survey",
    "take_in",
]
