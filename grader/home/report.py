"""What pytest shows a student: one quiet line for what is missing, then exercises and points."""

from __future__ import annotations

import contextlib
import sys
import traceback
from collections import Counter
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from _pytest._code.code import ReprFileLocation

from grader.home.bench import Home
from grader.home.failure import Failure
from grader.home.mending import Patience
from grader.home.picture import ink_for, picture
from grader.home.reasons import FailedTest, Reasons
from grader.home.several_processes import is_one_of_several
from grader.points import Gate, hundredths, points_of
from grader.testing.assertions import WrongNumbers
from grader.testing.cases import CaseExhausted
from grader.testing.exercise import membership
from grader.testing.outcome import StudentFault, observing
from grader.verdict import Aspect, Status

_EXERCISE, _ASPECT, _NOTE = "exercise", "aspect", "note"
_MISSING, _PASSED = "missing", "passed"
_LONGEST = 300
_CUT_SHORT = (
    "Not all was tried to find the lines to change, so that you need not wait: "
    "`pytest --locate` tries all."
)


@dataclass(slots=True)
class ExerciseTally:
    """How an exercise's tests ended, and the points that they carry, in hundredths."""

    outcomes: Counter[str] = field(default_factory=Counter)
    possible: int = 0
    _gate: Gate = field(default_factory=Gate)
    _others: int = 0

    def add(self, outcome: str, is_of_values: bool, worth: int) -> None:
        """One more test, with the hundredths that it carries."""
        self.outcomes[outcome] += 1
        self.possible += worth
        earned = worth if outcome == _PASSED else 0
        if is_of_values:
            self._gate.add_values(earned, worth, outcome == _PASSED)
        else:
            self._others += earned

    @property
    def points(self) -> int:
        """The hundredths that count."""
        return self._gate.right + self._gate.counted_of(self._others)

    @property
    def counts_less(self) -> bool:
        """Whether other points than those of the values were earned, and do not all count."""
        return self.points < self._gate.right + self._others


class HomeReport:
    """Replaces tracebacks by the messages of the assertions, and sums up by exercise."""

    def __init__(self, root: Path, home: Home, verbose: bool, patience: Patience) -> None:
        self._root = root
        self._verbose = verbose
        self._home = home
        self._patience = patience
        self._reasons = Reasons(root, home)
        self._failed: list[pytest.TestReport] = []
        self._tallies: dict[str, ExerciseTally] = {}
        self._notes: dict[str, dict[str, None]] = {}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Exercises come in the order in which the assignment lists them, the first ones first."""
        members = [membership(item) for item in items]
        with contextlib.suppress(ValueError):
            order = list(self._home.exercises)
            places = [order.index(member.exercise) for member in members if member is not None]
            if len(places) == len(items):
                ranked = sorted(zip(places, range(len(items)), items, strict=True))
                items[:] = [item for _, _, item in ranked]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self) -> None:
        """Says once, and instead of every test, why a student's code cannot be imported."""
        problem = self._home.bench.problem
        if problem is not None:
            raise pytest.UsageError(f"your code cannot be imported: {problem.message}")

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
        exception = call.excinfo.value if call.excinfo else None
        if belongs is None or (report.when != "call" and report.passed):
            return report
        if report.failed and exception is not None:
            report.longrepr = self._failure(item, exception)
        report.user_properties.append((_EXERCISE, belongs.exercise))
        report.user_properties.append((_ASPECT, str(belongs.aspect)))
        if isinstance(exception, StudentFault):
            report.when = "call"
            if exception.status is Status.ERROR and not exception.settled:
                self._reasons.note_raised(belongs, item.nodeid)
            if exception.status is Status.MISSING:
                _count_as_missing(report, item, exception.headline)
        return report

    def _failure(self, item: pytest.Item, exception: BaseException) -> Failure:
        """What is said of a test that failed."""
        drawing: list[str] = []
        raised = isinstance(exception, StudentFault) and exception.status is Status.ERROR
        if isinstance(exception, StudentFault):
            message = exception.message
        elif isinstance(exception, WrongNumbers):
            message = str(exception) if self._verbose else exception.words
            if self._verbose:
                ink = ink_for(getattr(sys.__stdout__, "encoding", None))
                drawing = picture(exception.comparison, exception.axes, ink)
        elif isinstance(exception, CaseExhausted):
            message = "there are no fixture tensors for this test: `grader freeze` makes them"
        elif isinstance(exception, AssertionError) and exception.args:
            message = str(exception).partition("\nassert ")[0]
        else:
            message = _own_fault(exception, self._root)
        path, line, _ = item.location
        crash = ReprFileLocation(path, (line or 0) + 1, message.partition("\n")[0])
        return Failure(_about(item), message, crash, raised, drawing=drawing)

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
        outcome = _MISSING if properties.get(_MISSING) else report.outcome
        worth = hundredths(self._home.cases.points(report.nodeid))
        tally.add(outcome, properties[_ASPECT] == Aspect.VALUES, worth)
        if report.failed and not properties.get(_MISSING):
            self._failed.append(report)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Before the failures are shown, adds the mistake that explains them where it is known.

        What is missing is no failure, and no success either.
        """
        missing = any(tally.outcomes["missing"] for tally in self._tallies.values())
        if missing and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        was_interrupted = session.exitstatus == pytest.ExitCode.INTERRUPTED
        if was_interrupted or is_one_of_several(session.config):
            return
        failed = [
            FailedTest(report.nodeid, _exercise(report), report.longrepr)
            for report in self._failed
            if isinstance(report.longrepr, Failure)
        ]
        self._reasons.add(failed, self._patience)

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
        if not self._reasons.is_complete:
            show("")
            show(_CUT_SHORT)
        for text, exercises in self._notes.items():
            show("")
            show(f"note on {', '.join(exercises)}: {text}")
        tallies = self._tallies.values()
        if any(tally.possible for tally in tallies):
            reached = _in_words(sum(tally.points for tally in tallies))
            carried = _in_words(sum(tally.possible for tally in tallies))
            show("")
            if any(tally.counts_less for tally in tallies):
                show(
                    "Without right values no points: "
                    "the rest of an exercise counts as far as they are."
                )
            show(
                f"{reached} of the {carried} points that these tests carry. "
                "Your course grades with more tests than these: other shapes, sizes and values."
            )


def _about(item: pytest.Item) -> str:
    """What a test is about: the first line of its docstring."""
    docstring = getattr(getattr(item, "function", None), "__doc__", None) or ""
    return "".join(docstring.strip().splitlines()[:1])


def _count_as_missing(report: pytest.TestReport, item: pytest.Item, reason: str) -> None:
    """What is not written yet is no failure: `pytest -x` goes on to what is."""
    path, line, _ = item.location
    report.outcome, report.longrepr = "skipped", (path, (line or 0) + 1, reason)
    report.user_properties.append((_MISSING, True))


def _own_fault(exception: BaseException, root: Path) -> str:
    """An error of the tests or the grader, at the line of a file of the course."""
    words = f"{type(exception).__name__}: {' '.join(str(exception).split())[:_LONGEST]}"
    if isinstance(exception, pytest.FixtureLookupError):
        words = f"there is no fixture {exception.argname}"
    places = [
        f" ({Path(entry.filename).relative_to(root)}, line {entry.lineno})"
        for entry in traceback.extract_tb(exception.__traceback__)
        if Path(entry.filename).is_relative_to(root) and sys.prefix not in entry.filename
    ]
    return f"the test itself broke, which is not your doing: {words}{''.join(places[-1:])}"


def _exercise(report: pytest.TestReport) -> str:
    return str(dict(report.user_properties)[_EXERCISE])


def _line(tally: ExerciseTally) -> str:
    outcomes: Mapping[str, int] = tally.outcomes
    total = sum(outcomes.values())
    if outcomes.get("missing", 0) == total:
        return "not implemented yet"
    reached, carried = _in_words(tally.points), _in_words(tally.possible)
    points = f", {reached} of {carried} points" if tally.possible else ""
    return f"{outcomes.get(_PASSED, 0)} of {total} passed{points}"


def _in_words(number: int) -> str:
    """So many hundredths as points."""
    return f"{points_of(number):.10g}"
