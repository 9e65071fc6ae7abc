"""The report of each test to pytest: a failure's reason in words, a quiet line for missing code."""

from __future__ import annotations

import contextlib
import sys
import traceback
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from grader.core.causes import FailedTest
from grader.core.points import hundredths
from grader.core.verdict import Aspect, Status
from grader.explain.answers import words_of
from grader.home.bench import Home
from grader.home.causes import Reasons
from grader.home.failure import Failure
from grader.home.summary import MISSING, STUB, ExerciseCounts
from grader.testing.assertions import WrongNumbers
from grader.testing.cases import CaseExhausted, fixture_file, is_frozen
from grader.testing.exercise import Membership, membership, subject_of
from grader.testing.outcome import StudentFault, observing, running_a_test

# Names of a report's properties.
_EXERCISE, _ASPECT, _NOTE, _MISSING = "exercise", "aspect", "note", "missing"
_LONGEST = 300


class HomeReport:
    """The plugin that replaces tracebacks by the messages of assertions and their causes.

    `exercise_counts` sums up outcomes by exercise. `notes` are remarks, each with its exercises.
    """

    def __init__(self, root: Path, home: Home, verbose: bool, reasons: Reasons) -> None:
        self._root = root
        self._verbose = verbose
        self._home = home
        self._reasons = reasons
        self._was_interrupted = False
        self.exercise_counts: dict[str, ExerciseCounts] = {}
        self.notes: dict[str, dict[str, None]] = {}

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Shows progress as one letter for each test, without a line for each file."""
        reporter = session.config.pluginmanager.get_plugin("terminalreporter")
        if not self._verbose and isinstance(reporter, pytest.TerminalReporter):
            reporter.showfspath = False

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Sorts the tests by exercise, in the assignment's order."""
        members = [membership(item) for item in items]
        with contextlib.suppress(ValueError):
            order = list(self._home.exercises)
            places = [order.index(member.exercise) for member in members if member is not None]
            if len(places) == len(items):
                ranked = sorted(zip(places, range(len(items)), items, strict=True))
                items[:] = [item for _, _, item in ranked]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> None:
        """Says once, instead of running tests, why the code or the fixtures cannot be loaded."""
        problem = self._home.bench.problem
        if problem is not None:
            raise pytest.UsageError(f"your code cannot be imported: {problem.message}")
        for module in {item.nodeid.partition("::")[0] for item in session.items}:
            file = fixture_file(self._root / module)
            if file.is_file() and not is_frozen(file):
                place = file.relative_to(self._root)
                raise pytest.UsageError(f"{place} is damaged: take it from the handout again")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """Keeps the notes of the test in its properties."""
        # Other tests, such as the engine's own, may expect a fault.
        context = observing if membership(item) is None else running_a_test
        with context() as observed:
            try:
                return (yield)
            finally:
                item.user_properties += [(_NOTE, text) for text in observed.notes]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[Any]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Marks missing code, and replaces a traceback by a short failure."""
        belongs = membership(item)
        exception = call.excinfo.value if call.excinfo else None
        is_ours = belongs is not None and not isinstance(exception, pytest.skip.Exception)
        if call.excinfo is not None and is_ours:
            # To format it, pytest compiles the source of each frame; the failure below replaces it.
            call.excinfo.traceback = call.excinfo.traceback.filter(lambda _: False)
        report = yield
        if belongs is None or (report.when != "call" and report.passed):
            return report
        report.user_properties.append((_EXERCISE, belongs.exercise))
        report.user_properties.append((_ASPECT, str(belongs.aspect)))
        if isinstance(exception, StudentFault):
            report.when = "call"
            if exception.status is Status.MISSING:
                _count_as_missing(report, item, exception.headline)
                if (where := exception.where) is not None:
                    stub = f"{belongs.exercise} {where.file}:{where.line}"
                    report.user_properties.append((STUB, stub))
                call.excinfo = None  # a debugger has nothing to show
        if report.failed and exception is not None:
            report.longrepr = failure = self._failure(item, belongs, exception)
            try:
                self._reasons.explain(item, failure)
            except KeyboardInterrupt:
                self._was_interrupted = True
            raised = self._home.calls.raised
            if isinstance(exception, StudentFault) and raised is not None:
                # A debugger then stops at the student's line, not at the grader's.
                call.excinfo = pytest.ExceptionInfo.from_exception(raised)
        return report

    def _failure(self, item: pytest.Item, belongs: Membership, exception: BaseException) -> Failure:
        status, told = Status.FAILED, words_of(exception, "the test failed")
        message, where = told.message, told.where
        if isinstance(exception, StudentFault):
            status = exception.status
        elif isinstance(exception, WrongNumbers) and not self._verbose:
            message = exception.words
        elif isinstance(exception, CaseExhausted):
            status = Status.NOT_GRADED
            message = "there are no fixture tensors for this test: `grader freeze` makes them"
        elif not isinstance(exception, AssertionError | pytest.fail.Exception):
            status, message = Status.NOT_GRADED, _own_fault(exception, self._root)
        path, line, _ = item.location
        said = FailedTest(
            item.nodeid,
            belongs.exercise,
            status,
            message,
            belongs.aspect,
            places=() if where is None else ((where.file, where.line),),
        )
        place = (path, (line or 0) + 1)
        return Failure(subject_of(item), said, place)

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Adds a test's outcome to those of its exercise.

        Raises:
            KeyboardInterrupt: if Ctrl-C was pressed while the failure was being explained.
        """
        properties = dict(report.user_properties)
        exercise = properties.get(_EXERCISE)
        if not isinstance(exercise, str):
            return
        for name, text in report.user_properties:
            if name == _NOTE:
                self.notes.setdefault(str(text), {})[exercise] = None
        counts = self.exercise_counts.setdefault(exercise, ExerciseCounts())
        outcome = MISSING if properties.get(_MISSING) else report.outcome
        worth = hundredths(self._home.cases.points(report.nodeid))
        counts.add(outcome, properties[_ASPECT] == Aspect.VALUES, worth)
        if self._was_interrupted:
            raise KeyboardInterrupt

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Gives the session the exit code of failed tests if code is missing and no test failed."""
        missing = any(counts.outcomes[MISSING] for counts in self.exercise_counts.values())
        if missing and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        """Reports *missing* as an outcome of its own, without a page of failures."""
        if report.when == "call" and dict(report.user_properties).get(_MISSING):
            return "missing", "-", "MISSING"
        return None


def _count_as_missing(report: pytest.TestReport, item: pytest.Item, reason: str) -> None:
    """Reports a test of unwritten code as skipped, not failed, so that `pytest -x` goes on."""
    path, line, _ = item.location
    report.outcome, report.longrepr = "skipped", (path, (line or 0) + 1, reason)
    report.user_properties.append((_MISSING, True))


def _own_fault(exception: BaseException, root: Path) -> str:
    """Returns the message on an error of the tests or the grader, with its line in the course."""
    words = f"{type(exception).__name__}: {' '.join(str(exception).split())[:_LONGEST]}"
    if isinstance(exception, pytest.FixtureLookupError):
        words = f"there is no fixture {exception.argname}"
    places = [
        f" ({Path(entry.filename).relative_to(root)}:{entry.lineno})"
        for entry in traceback.extract_tb(exception.__traceback__)
        if Path(entry.filename).is_relative_to(root) and sys.prefix not in entry.filename
    ]
    return f"the test itself broke, not your code: {words}{''.join(places[-1:])}"
