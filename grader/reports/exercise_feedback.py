"""What a student reads of one exercise where there is room for a paragraph and not for a page."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from grader.core.causes import Cause
from grader.core.plain_text import plain
from grader.core.text import one_line
from grader.core.verdict import Verdict
from grader.reports.account import cost, extent, paragraph, title
from grader.reports.notes import notes
from grader.reports.standing import Standing, standing_of

_CAUSES = 5
_LONGEST = 1500


def feedback(verdicts: Sequence[Verdict], found: Sequence[Cause]) -> str:
    """Why an exercise is not right, how it stands, and remarks, as plain text.

    `found` are the causes of all exercises: one that is told of an earlier exercise is only named.
    It names no test and shows nothing that a hidden one expects: the messages of those do not.
    """
    standing = standing_of(verdicts)
    if standing.standing is Standing.MISSING:
        return shortened(plain(verdicts[0].message or standing.words))
    own = [cause for cause in found if standing.exercise in cause.exercises]
    parts = [_told(cause, standing.exercise) for cause in own[:_CAUSES]]
    if len(own) > _CAUSES:
        parts.append(f"and {len(own) - _CAUSES} more that went wrong in other ways")
    parts.append(f"{standing.words}; {standing.passed} of {standing.tests} tests passed")
    parts += [f"note: {shortened(plain(note))}" for note in notes(verdicts)]
    return "\n\n".join(parts)


def shortened(text: str, longest: int = _LONGEST) -> str:
    """The text, cut off after `longest` characters."""
    return text if len(text) <= longest else f"{text[:longest].rstrip()}…"


def _told(cause: Cause, exercise: str) -> str:
    root = cause.exercises[0]
    if root != exercise:
        place = f" ({one_line(cause.lines)})" if cause.lines else ""
        return f"{title(cause)}\n  Follows from {one_line(root)}{place}: see there."
    fails = f"{extent(cause)} {cost(cause)}".rstrip()
    below = "\n".join(map(shortened, [*paragraph(cause), fails]))
    return f"{title(cause)}\n{textwrap.indent(below, '  ')}"
