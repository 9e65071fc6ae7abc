"""What was remarked on tests that passed."""

from __future__ import annotations

from collections.abc import Iterable

from grader.core.points import OF_THE_VALUES
from grader.core.verdict import Status, Verdict

WRONG_VALUES = "Of an exercise whose values are not all right, the other tests count less."


def notes(verdicts: Iterable[Verdict]) -> dict[str, list[Verdict]]:
    """What was remarked on tests that passed, each line for itself, and on which."""
    remarked: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        if verdict.status is Status.PASSED and verdict.message:
            for line in verdict.message.splitlines():
                remarked.setdefault(line, []).append(verdict)
    return remarked


def notes_in_short(verdicts: Iterable[Verdict]) -> dict[str, list[Verdict]]:
    """The same, but that an exercise's values are not all right is told once, and of no test."""
    found = notes(verdicts)
    told = {note: noted for note, noted in found.items() if not note.endswith(OF_THE_VALUES)}
    return told if len(told) == len(found) else {**told, WRONG_VALUES: []}
