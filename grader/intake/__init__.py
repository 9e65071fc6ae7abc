"""Taking in what was handed in: finding submissions, copying them privately, running nothing."""

from grader.intake.discovery import Discovery, Entry, NothingToGrade, Skipped, discover, single
from grader.intake.fingerprint import fingerprint
from grader.intake.limits import Allowance, Limits
from grader.intake.private_copy import CopyFailed
from grader.intake.staging import take_in

__all__ = [
    "Allowance",
    "CopyFailed",
    "Discovery",
    "Entry",
    "Limits",
    "NothingToGrade",
    "Skipped",
    "discover",
    "fingerprint",
    "single",
    "take_in",
]
