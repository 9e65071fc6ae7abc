"""A table of when people handed in, as a platform or an instructor's script wrote it."""

from __future__ import annotations

import csv
import datetime
import io
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from grader.core.submission import Author
from grader.results.decisions.class_list import ClassList, Unknown, Whom
from grader.results.decisions.decision import BadDecisions

Told = TypeVar("Told")
# Headers without case, spaces and punctuation; the first that a table has is taken.
_TIMES = (
    *("submittedat", "submitted", "submissiontime", "submissiontimestamp", "submissiondate"),
    *("handedin", "handedinat", "createdat", "time", "timestamp", "lastmodifiedsubmission"),
)
_WHO = (
    *("submission", "id", "userid", "canvasid", "canvasuserid", "sid", "studentid", "sisuserid"),
    *("idnumber", "email", "emailaddress", "login", "sisloginid", "username", "githubusername"),
    *("rosteridentifier", "name", "fullname", "student", "studentname"),
)
_LARGEST = 16 * 2**20


def read_times(file: Path, known: ClassList) -> list[tuple[Whom, datetime.datetime]]:
    """When whom of the class handed in; rows of others, and rows without a time, are passed over.

    Raises:
        BadDecisions: if it cannot be read, or has no column for times or people.
    """
    rows = _rows(file)
    header = [re.sub(r"[\W_]", "", cell.casefold()) for cell in rows[0]]
    time = next((header.index(name) for name in _TIMES if name in header), None)
    who = [header.index(name) for name in _WHO if name in header]
    if time is None or not who:
        lacking = "times, such as submitted_at" if time is None else "people, such as id or name"
        raise BadDecisions(
            f"{file.name}:1: there is no column for {lacking}: it has {', '.join(rows[0])[:200]}"
        )
    found = []
    for number, row in enumerate(rows[1:], 2):
        cells = [*row, *[""] * (len(header) - len(row))]
        whom = _whom([cells[place].strip() for place in who], known)
        if whom is not None and cells[time].strip() not in ("", "-"):
            found.append((whom, _moment(cells[time], f"{file.name}:{number}")))
    return found


def _whom(names: Sequence[str], known: ClassList) -> Whom | None:
    for name in filter(None, names):
        try:
            whom = known.whom(name, has_numbers=False)
        except Unknown:
            continue
        if whom != Whom():
            return whom
    return None


def _moment(text: str, place: str) -> datetime.datetime:
    """A time of ISO 8601, also as platforms write it: `2026-10-03 17:34:00 -0700`, `… UTC`."""
    written = re.sub(r"\s+(UTC|GMT|Z)$", "Z", text.strip())
    written = re.sub(r"\s+([+-]\d\d:?\d\d)$", r"\1", written)
    written = re.sub(r"(\.\d{6})\d+", r"\1", written)
    try:
        return datetime.datetime.fromisoformat(written)
    except ValueError:
        raise BadDecisions(
            f"{place}: {text!r} is no time such as 2026-10-03 23:59:00 +0200"
        ) from None


def _rows(file: Path) -> list[list[str]]:
    try:
        with file.open("rb") as opened:
            content = opened.read(_LARGEST + 1)
        text = content.decode("utf-8-sig")
    except OSError as error:
        raise BadDecisions(f"{file} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise BadDecisions(f"{file} is no CSV file in UTF-8: save it as CSV UTF-8") from error
    first = text.partition("\n")[0]
    delimiter = max(",;\t", key=first.count)
    try:
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)]
    except csv.Error as error:
        raise BadDecisions(f"{file} is no CSV: {error}") from error
    if len(content) > _LARGEST or len(rows) < 2:
        raise BadDecisions(f"{file} is no table of times: it wants a header and a row for each")
    return rows


def of_submissions(
    told: Sequence[tuple[Whom, Told]], authors: Mapping[str, Sequence[Author]]
) -> dict[str, Told]:
    """What is told of people, by submissions; of several things for one, the last."""
    by_author: dict[Author, list[str]] = {}
    for name, there in authors.items():
        for author in there:
            by_author.setdefault(author, []).append(name)
    found: dict[str, Told] = {}
    for whom, one in told:
        own = [whom.submission] if whom.submission else []
        own += by_author.get(whom.author, []) if whom.author else []
        found |= dict.fromkeys(own, one)
    return found
