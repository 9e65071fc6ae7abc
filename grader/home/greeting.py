"""Where to begin, and what is next: told after a run in which nothing that is written is wrong."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

import pytest

from grader.core.verdict import Status
from grader.testing.exercise import membership
from grader.testing.outcome import StudentFault

# The name of a property of a report, which also tells it to another process of pytest-xdist.
_STUB = "stub"


class Greeting:
    """Names the first exercise that is not written, with its place; `exercises` say the order."""

    def __init__(self, exercises: Sequence[str]) -> None:
        self._exercises = exercises
        self._stubs: dict[str, tuple[str, str]] = {}
        self._begun = False
        self._wrong = False

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[Any]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Notes where the stub is that a test met."""
        report = yield
        member, fault = membership(item), call.excinfo.value if call.excinfo else None
        if member is not None and isinstance(fault, StudentFault):
            where = fault.where
            if fault.status is Status.MISSING and where is not None:
                place = f"{member.exercise} {where.file}, line {where.line}"
                report.user_properties.append((_STUB, place))
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collects the stubs that were met."""
        stub = dict(report.user_properties).get(_STUB)
        if isinstance(stub, str):
            exercise, _, place = stub.partition(" ")
            self._stubs.setdefault(exercise, (place, report.nodeid.partition("::")[0]))
        elif report.failed:
            self._wrong = True
        elif report.when == "call":
            self._begun = True

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Says it, below all else."""
        if self._wrong or not self._stubs:
            return
        ordered = [name for name in self._exercises if name in self._stubs] or list(self._stubs)
        place, tests = self._stubs[ordered[0]]
        start = "Next is" if self._begun else "Nothing of this is written yet. Begin with"
        for line in (
            "",
            f"{start} {ordered[0]} ({place}):",
            f"write what its docstring asks for, then run `pytest {tests}`.",
        ):
            terminalreporter.write_line(line)
