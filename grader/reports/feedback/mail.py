"""A table for a mail merge: a row for each person, with the mail in it."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import TextIO

from grader.reports.export.sheet import harmless
from grader.reports.feedback.letter import Letter

FILE = "mail.csv"
HOW = (
    f"{FILE} has a row for each person: give it to your mail program's mail merge, with the fields "
    "email, subject and body."
)
_HEADER = ("name", "email", "subject", "body")


class Mails:
    """Writes the rows."""

    def __init__(self, file: TextIO) -> None:
        self._rows = csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n")
        self._rows.writerow(_HEADER)

    def add_letter(self, letter: Letter) -> str:
        """Adds a row for each person of a submission; who gets none, if somebody does not."""
        for person in letter.people:
            if person.email:
                self._rows.writerow([*_row(person.name, person.email, letter)])
        if all(person.email for person in letter.people):
            return ""
        return "an address is not known: a roster tells it (grader batch --roster)"


def _row(name: str, email: str, letter: Letter) -> Iterator[str]:
    subject = letter.text.partition("\n")[0]
    return map(harmless, (name, email, subject, letter.text))
