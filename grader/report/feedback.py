"""What a student reads of one exercise where there is room for a paragraph and not for a page."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from grader.plain_text import plain
from grader.report.failures import Failure, account, failures, notes
from grader.report.standing import Standing, standing_of
from grader.verdict import Verdict

_FAILURES = 5
_LONGEST = 1500


def feedback(verdicts: Sequence[Verdict]) -> str:
    """How an exercise stands, each of its failures, and remarks, as plain text.

    It names no test and shows nothing that a hidden one expects: the messages of those do not.
    """
    standing = standing_of(verdicts)
    if standing.standing is Standing.MISSING:
        return shortened(plain(verdicts[0].message or standing.words))
    found = failures(verdicts)
    ranked = sorted(found, key=lambda failure: -failure.lost)
    parts = [f"{standing.words}; {standing.passed} of {standing.tests} tests passed"]
    parts += [f"{failure.outcome}\n{_explained(failure)}" for failure in ranked[:_FAILURES]]
    if len(ranked) > _FAILURES:
        parts.append(f"and {len(ranked) - _FAILURES} more that went wrong in other ways")
    parts += [f"note: {shortened(plain(note))}" for note in notes(verdicts)]
    return "\n\n".join(parts)


def shortened(text: str, longest: int = _LONGEST) -> str:
    """The text, cut off after `longest` characters."""
    return text if len(text) <= longest else f"{text[:longest].rstrip()}…"


def _explained(failure: Failure) -> str:
    return textwrap.indent("\n".join(map(shortened, account(failure))), "  ")
