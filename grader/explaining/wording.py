"""The wording that people read, at home and in reports: what, where, why, in which call."""

from __future__ import annotations

from collections.abc import Sequence

from grader.explaining.answers import refusal_in_words
from grader.explaining.exceptions.account import fault_of, printed_in_words
from grader.testing.contract import Adapter
from grader.testing.outcome import StudentFault
from grader.wire.calls import Call, Raised
from grader.wire.frames import Value


class InFull:
    """A `Wording` that tells all that is known."""

    def raised(self, raised: Raised, adapter: str, call: Call | None = None) -> StudentFault:
        """What was raised, on which line, with which operands, and what that means."""
        return fault_of(raised, adapter, call)

    def refused(self, adapter: Adapter, value: Value, call: Call) -> str:
        """What came instead, what explains it, and the call."""
        return refusal_in_words(adapter, value, call)

    def printed(self, text: str) -> Sequence[str]:
        """The last lines of it."""
        return tuple(printed_in_words(text))
