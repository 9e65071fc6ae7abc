"""The corpus of messages: one-line slips of right programs, each with a tutor's sentence.

A file of `benchmarks/messages` holds the slips of one style of the corpus of slips. Each has the
tutor's sentence and the line to which the tutor points. `says` is a list of groups: a message must
contain one phrase of each group. Phrases in `must_not` would mislead the student. Lines in
`elsewhere`, in other files, are equally guilty.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.slips_archive import submission
from benchmarks.slips_corpus import DEFAULTS, BadSlip, Line, Slip, slip_of

MESSAGES = Path(__file__).parent / "messages"


@dataclass(frozen=True)
class Told:
    """A slip and the required message, in the exercise `adapter` or the first that failed."""

    slip: Slip
    tutor: str
    says: tuple[tuple[str, ...], ...]
    must_not: tuple[str, ...]
    adapter: str | None

    def is_said_in(self, message: str) -> bool:
        """Returns whether a message contains the tutor's sentence, in any words."""
        text = folded(message)
        return all(any(folded(phrase) in text for phrase in group) for group in self.says)

    def misled_by(self, message: str) -> str | None:
        """Returns a phrase of a message that would mislead the student, or None."""
        text = folded(message)
        return next((phrase for phrase in self.must_not if folded(phrase) in text), None)


def folded(text: str) -> str:
    """Returns a text without line breaks and in lower case."""
    return " ".join(text.split()).casefold()


def load(chosen: Sequence[str] = ()) -> list[Told]:
    """Returns the required messages for slips of the chosen styles, by default of all.

    Raises:
        BadSlip: if a slip does not fit its program, or has no required message.
    """
    found, faults = [], []
    for style in chosen or sorted(path.stem for path in MESSAGES.glob("*.toml")):
        seen: Counter[str] = Counter()
        for row in tomllib.loads((MESSAGES / f"{style}.toml").read_text("utf-8"))["slip"]:
            seen[row["kind"]] += 1
            name = f"{style}/{row['kind']}-{seen[row['kind']]}"
            try:
                found.append(_told(style, name, row))
            except (BadSlip, KeyError) as error:
                faults.append(f"{name}: {error}")
    if faults:
        raise BadSlip("\n".join(faults))
    return found


def _line(style: str, file: str, text: str) -> Line:
    lines = submission(style)[file].split("\n")
    found = [at for at, line in enumerate(lines, 1) if line == text]
    if len(found) != 1:
        raise BadSlip(f"{text!r} stands {len(found)} times in {file}")
    return Line(file, found[0])


def _told(style: str, name: str, row: dict[str, Any]) -> Told:
    slip = slip_of(style, name, DEFAULTS | row)
    others = tuple(_line(style, *place) for place in row.get("elsewhere", ()))
    slip = replace(slip, lines=(*slip.lines, *others))
    says = tuple(map(tuple, row["says"]))
    if not says or not all(says):
        raise BadSlip("nothing must be said of it")
    return Told(slip, row["tutor"], says, tuple(row.get("must_not", ())), row.get("adapter"))
