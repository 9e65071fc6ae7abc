"""The wording that people read, at home and in reports: what, where, why, in which call."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from grader.core.plain_text import plain
from grader.core.verdict import Status
from grader.core.wire.calls import Call, Raised, Traced
from grader.core.wire.records import Line
from grader.core.wire.values import Value
from grader.core.words import Told
from grader.explain.answers import refusal_in_words, wrong_with
from grader.explain.exceptions.account import fault_of, printed_in_words
from grader.testing.assertions.assertions import WrongForm, WrongNumbers
from grader.testing.contract.contract import Adapter
from grader.testing.outcome import StudentFault, where_of
from grader.testing.wording import Trace


class InFull:
    """A `Wording` that tells all that is known."""

    def raised(self, raised: Raised, adapter: str, call: Call | None = None) -> StudentFault:
        """What was raised, on which line, with which operands, and what that means."""
        return fault_of(raised, adapter, call)

    def refused(self, adapter: Adapter, value: Value, call: Call, trace: Trace) -> StudentFault:
        """What came instead, from which line, what explains it, and the call."""
        line = trace(wrong_with(adapter, value, call))
        said = refusal_in_words(adapter, value, call, line)
        return StudentFault(Status.FAILED, said, where_of(line))

    def origin(self, trace: Trace, what: Traced) -> Line | None:
        """The line that is found."""
        return trace(what)

    def printed(self, text: str) -> Sequence[str]:
        """The last lines of it."""
        return tuple(printed_in_words(text))


def words_of(raised: BaseException, about: str) -> Told:
    """What is said of a test that ended with something raised; `about` is what it is about."""
    if isinstance(raised, StudentFault):
        where = raised.where
        return Told(plain(raised.message), where=where)
    if isinstance(raised, WrongNumbers):
        return Told(plain(str(raised)), raised.comparison.measurement, where=raised.where)
    if isinstance(raised, WrongForm):
        return Told(plain(str(raised)), where=raised.where)
    if isinstance(raised, AssertionError | pytest.fail.Exception):
        return Told(plain(str(raised).partition("\nassert ")[0]) or about)
    return Told(f"the answer cannot be compared ({type(raised).__name__}): {about}")
