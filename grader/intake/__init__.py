"""Taking in what was handed in: finding submissions, copying them privately, running nothing."""

from grader.intake.attribution import Attribution, attribute
from grader.intake.discovery import discover, single
from grader.intake.entry import Discovery, Entry, NothingToGrade, Piece, Skipped
from grader.intake.fingerprint import fingerprint
from grader.intake.limits import Allowance, Limits
from grader.intake.private_copy import CopyFailed
from grader.intake.roster import BadRoster, Person, read_roster
from grader.intake.staging import take_in

__all__ = [
    "Allowance",
    "Attribution",
    "BadRoster",
    "CopyFailed",
    "Discovery",
    "Entry",
    "Limits",
    "NothingToGrade",
    "Person",
    "Piece",
    "Skipped",
    "attribute",
    "discover",
    "fingerprint",
    "read_roster",
    "single",
    "take_in",
]
