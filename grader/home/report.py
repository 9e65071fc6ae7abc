"""What pytest shows a student: one quiet line for what is missing, then exercises and points."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from grader.assignment import BadAssignment, find_assignment
from grader.home.bench import HomeCases
from grader.home.mistakes import FrozenMistakes
from grader.testing.bench import Bench
from grader.testing.cases import CaseExhausted
from grader.testing.diagnosis import diagnose
from grader.testing.exercise import membership
from grader.testing.outcome import StudentFault, observing
from grader.verdict import Status

_EXERCISE, _MISSING, _NOTE = "exercise", "missing", "note"


@dataclass(slots=True)
class ExerciseTally:
    """How an exercise's tests ended, and the points that they carry."""

    outcomes: Counter[str] = field(default_factory=Counter)
    points: float = 0.0
    max_points: float = 0.0


class HomeReport:
    """Replaces tracebacks by the messages of the assertions, and sums up by exercise."""

    def __init__(self, root: Path, bench: Bench, cases: HomeCases) -> None:
        self._root = root
        self._bench = bench
        self._cases = cases
        self._failed: list[pytest.TestReport] = []
        self._tallies: dict[str, ExerciseTally] = {}
        self._notes: dict[str, dict[str, None]] = {}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Exercises come in the order in which the assignment lists them, the first ones first."""
        members = [membership(item) for item in items]
        with contextlib.suppress(BadAssignment, ValueError):
            order = list(find_assignment(self._root).points)
            places = [order.index(member.exercise) for member in members if member is not None]
            if len(places) == len(items):
                ranked = sorted(zip(places, range(len(items)), items, strict=True))
                items[:] = [item for _, _, item in ranked]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """Keeps what the test notes."""
        with observing() as observed:
            try:
                return (yield)
            finally:
                item.user_properties += [(_NOTE, text) for text in observed.notes]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[Any]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Marks what is missing, and shortens what is shown."""
        report = yield
        belongs = membership(item)
        if belongs is None or (report.when == "teardown" and report.passed):
            return report
        if report.when == "setup" and report.passed:
            return report
        report.user_properties.append((_EXERCISE, belongs.exercise))
        exception = call.excinfo.value if call.excinfo else None
        if isinstance(exception, StudentFault):
            report.when, report.outcome = "call", "failed"
            missing = exception.status is Status.MISSING
            report.user_properties.append((_MISSING, missing))
            report.longrepr = _shown(item, exception.message)
        elif isinstance(exception, CaseExhausted):
            report.longrepr = _shown(
                item, "there are no fixture tensors for this test: `grader freeze` makes them"
            )
        elif isinstance(exception, AssertionError) and exception.args:
            report.longrepr = _shown(item, str(exception))
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Adds a test's outcome to its exercise's."""
        properties = dict(report.user_properties)
        exercise = properties.get(_EXERCISE)
        if not isinstance(exercise, str):
            return
        for name, text in report.user_properties:
            if name == _NOTE:
                self._notes.setdefault(str(text), {})[exercise] = None
        tally = self._tallies.setdefault(exercise, ExerciseTally())
        tally.outcomes["missing" if properties.get(_MISSING) else report.outcome] += 1
        worth = self._cases.points(report.nodeid)
        tally.max_points += worth
        tally.points += worth if report.passed else 0.0
        if report.failed and not properties.get(_MISSING):
            self._failed.append(report)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Before the failures are shown, adds the mistake that explains them where it is known."""
        findings = diagnose(FrozenMistakes(self._cases.module), self._bench.observations)
        for report in self._failed:
            finding = findings.get(str(dict(report.user_properties)[_EXERCISE]))
            if finding is not None and report.nodeid in finding.tests:
                diagnosis = finding.diagnosis
                report.longrepr = "\n".join(
                    [str(report.longrepr), diagnosis.explanation, f"Hint: {diagnosis.hint}"]
                )

    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        """Missing is an outcome of its own, so that no page of failures is printed for it."""
        if report.when == "call" and dict(report.user_properties).get(_MISSING):
            return "missing", "-", "MISSING"
        return None

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Prints a line per exercise."""
        if not self._tallies:
            return
        show = terminalreporter.write_line
        terminalreporter.section("exercises")
        width = max(map(len, self._tallies))
        for name, tally in self._tallies.items():
            show(f"{name:<{width}}  {_line(tally)}")
        for text, exercises in self._notes.items():
            show("")
            show(f"note on {', '.join(exercises)}: {text}")
        if any(tally.max_points for tally in self._tallies.values()):
            total = sum(tally.points for tally in self._tallies.values())
            carried = sum(tally.max_points for tally in self._tallies.values())
            show("")
            show(
                f"{total:.4g} of the {carried:.4g} points that these tests carry. "
                "Your course grades with more tests than these: other shapes, sizes and values."
            )


def _shown(item: pytest.Item, message: str) -> str:
    """A calm paragraph: what the test is about, and what was wrong."""
    docstring = getattr(getattr(item, "function", None), "__doc__", None) or ""
    about = docstring.strip().splitlines()[:1]
    return "\n".join([*about, message])


def _line(tally: ExerciseTally) -> str:
    outcomes: Mapping[str, int] = tally.outcomes
    total = sum(outcomes.values())
    if outcomes.get("missing", 0) == total:
        return "not implemented yet"
    points = f", {tally.points:.4g} of {tally.max_points:.4g} points" if tally.max_points else ""
    return f"{outcomes.get('passed', 0)} of {total} passed{points}"
