"""The judge as a pytest plugin: collects the tests once, then runs them for each submission."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Container, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, Protocol, cast

import pytest
import torch
from _pytest.runner import runtestprotocol

from grader.assignment import Assignment, BadAssignment
from grader.judge.mistakes import KnownMistakes, load_mistakes
from grader.judge.points import share_points
from grader.plain_text import plain
from grader.testing.bench import Bench
from grader.testing.cases import Case, fresh_case
from grader.testing.course import load_contract, load_references
from grader.testing.diagnosis import Finding, Observation, diagnose
from grader.testing.exercise import Membership, membership
from grader.testing.outcome import Observations, StudentFault, observing
from grader.testing.plugin import BENCH
from grader.verdict import Measurement, Status, Verdict, Visibility, Where
from grader.wire.calls import Answer, Call

_QUIET = (
    "cacheprovider debugging doctest faulthandler junitxml logging pastebin setuponly setupplan "
    "stepwise terminal threadexception unraisableexception warnings"
)


class Examinee(Protocol):
    """Whoever answers the calls of the tests for one submission."""

    def ask(self, call: Call) -> Answer:
        """The answer to a call; raises StudentFault if there is none."""

    def close(self) -> None:
        """Called when no more calls will come."""


class Judge:
    """Runs an assignment's tests; `grade` may be called for one submission after another.

    Cases are drawn once and kept: every submission of a batch gets the same inputs.
    """

    def __init__(
        self, assignment: Assignment, seed: int, exercises: Sequence[str], serve: ServeSubmissions
    ) -> None:
        self._assignment = assignment
        self._seed = seed
        self._exercises = frozenset(exercises)
        self._serve = serve
        self._cases: dict[str, Case] = {}
        self._items: list[pytest.Item] = []
        self._tests: dict[str, Membership] = {}
        self._points: dict[str, float] = {}
        self._sitting: Examinee | None = None
        self._problem: Exception | None = None
        self._bench: Bench | None = None
        self.mistakes = KnownMistakes({})
        self._observed = Observations()
        self._raised: BaseException | None = None

    def run(self) -> None:
        """Collects the tests, then serves submissions until there are no more.

        Raises:
            BadAssignment: if the tests cannot be collected, or are not what they must be.
        """
        root = self._assignment.root
        folders = [self._assignment.public_tests, self._assignment.hidden_tests]
        arguments = [
            *(str(folder) for folder in folders if folder.is_dir()),
            f"--rootdir={root}",
            f"--config-file={root / 'pyproject.toml'}",
            "--override-ini=addopts=",
            "--import-mode=importlib",
            "--assert=plain",
            "--capture=no",
            "-pgrader.testing.plugin",
            *(f"-pno:{name}" for name in _QUIET.split()),
        ]
        # One thread: sums come out alike on every machine, and judges do not fight for cores.
        torch.set_num_threads(1)
        # Other people's plugins have no business in a grade.
        os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
        code = pytest.main(arguments, plugins=[self])
        if self._problem is not None:
            raise self._problem
        if code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            raise BadAssignment(f"the assignment's tests could not be run (pytest: {code})")

    @property
    def max_score(self) -> float:
        """The points that all selected tests carry."""
        return round(sum(self._points[item.nodeid] for item in self._items), 6)

    def grade(
        self, sitting: Examinee, exercises: Container[str] | None = None
    ) -> Iterator[Verdict]:
        """The verdict of every test (of `exercises`) on a submission, as each is reached."""
        self._sitting = sitting
        self.observations.clear()
        wanted = [
            item
            for item in self._items
            if exercises is None or self._tests[item.nodeid].exercise in exercises
        ]
        try:
            for item, next_item in zip(wanted, [*wanted[1:], *wanted[:1]], strict=True):
                yield self._examine(item, next_item)
        finally:
            self._sitting = None
            sitting.close()

    def explained(self, verdicts: Iterable[Verdict]) -> tuple[Verdict, ...]:
        """The last submission's verdicts, with the mistake that explains them where it is known."""
        verdicts = tuple(verdicts)
        failed = {verdict.exercise for verdict in verdicts if verdict.status is Status.FAILED}
        seen = {name: self.observations.get(name, []) for name in self._assignment.points}
        wrong = {name: seen[name] for name in seen if name in failed}
        findings = diagnose(self.mistakes, wrong)
        return tuple(_explained(verdict, findings) for verdict in verdicts)

    @property
    def observations(self) -> dict[str, list[Observation]]:
        """The last submission's answers, by exercise."""
        return self._bench.observations if self._bench is not None else {}

    def unexamined(
        self, status: Status, message: str, where: Where | None = None
    ) -> Iterator[Verdict]:
        """The same verdict of every test, for a submission that cannot be examined."""
        for item in self._items:
            yield self._verdict(item, status, message, 0.0, where=where)

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        """Lays out the bench at which the tests find this judge's submission."""
        root = self._assignment.root
        with self._stopping():
            contract, references = load_contract(root), load_references(root)
            self._bench = Bench(contract, self._ask, references, self.case, self._seed)
            self.mistakes = load_mistakes(root, references)
            config.stash[BENCH] = self._bench

    @pytest.hookimpl
    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A test module that cannot be imported makes every grade wrong: nothing is graded."""
        if report.failed:
            last = str(report.longrepr).strip().splitlines()[-1]
            with self._stopping():
                raise BadAssignment(f"{report.nodeid} cannot be collected: {last}")

    @pytest.hookimpl
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Shares out the points, and selects the exercises that were asked for."""
        with self._stopping():
            self._tests = {item.nodeid: _membership(item) for item in session.items}
            self._points = share_points(self._assignment, self._tests)
            self._items = self._selected(session.items)

    @pytest.hookimpl
    def pytest_runtestloop(self) -> bool:
        """Serves submissions in place of pytest's single pass over the tests."""
        with self._stopping():
            self._serve(self)
        return True

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Generator[None, Any, Any]:
        """Keeps what the test measures and notes."""
        with observing() as observations:
            self._observed = observations
            return (yield)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[Any]
    ) -> pytest.TestReport:
        """Keeps the exception that decides the verdict: the first. No traceback is rendered."""
        if call.excinfo is not None and self._raised is None:
            self._raised = call.excinfo.value
        outcome: Literal["passed", "failed"] = "passed" if call.excinfo is None else "failed"
        phase = cast(Literal["setup", "call", "teardown"], call.when)
        return pytest.TestReport(
            item.nodeid, item.location, {}, outcome, None, phase, duration=call.duration
        )

    @contextmanager
    def _stopping(self) -> Iterator[None]:
        """What is raised inside ends pytest quietly, and is raised again by `run`."""
        try:
            yield
        except Exception as problem:
            self._problem = self._problem or problem
            pytest.exit("the judge stopped", returncode=pytest.ExitCode.INTERNAL_ERROR)

    def _selected(self, items: Sequence[pytest.Item]) -> list[pytest.Item]:
        tested = {member.exercise for member in self._tests.values()}
        untested = sorted(set(self._assignment.points) - tested)
        if untested:
            raise BadAssignment(f"[tool.grader.exercises] lists {untested[0]}, but no test of it")
        wanted = self._exercises or tested
        order = list(self._assignment.points)
        chosen = [item for item in items if self._tests[item.nodeid].exercise in wanted]
        return sorted(chosen, key=lambda item: order.index(self._tests[item.nodeid].exercise))

    def _ask(self, call: Call) -> Answer:
        if self._sitting is None:
            raise RuntimeError("a test asked for a submission while none was being graded")
        return self._sitting.ask(call)

    def case(self, test_id: str) -> Case:
        """What a test draws and expects: the same for every submission."""
        if test_id not in self._cases:
            self._cases[test_id] = fresh_case(self._seed, test_id)
        return self._cases[test_id]

    def _examine(self, item: pytest.Item, next_item: pytest.Item) -> Verdict:
        self._raised, self._observed = None, Observations()
        reports = runtestprotocol(item, log=False, nextitem=next_item)
        duration = sum(report.duration for report in reports if report.when == "call")
        raised, observed = self._raised, self._observed
        if raised is None:
            notes = "; ".join(observed.notes) or None
            return self._verdict(item, Status.PASSED, notes, duration, observed.worst)
        if isinstance(raised, StudentFault):
            status, message, where = raised.status, raised.message, raised.where
        elif isinstance(raised, AssertionError | pytest.fail.Exception):
            status, message, where = Status.FAILED, str(raised) or _about(item), None
        else:
            status, where = Status.NOT_GRADED, None
            message = f"the grader's own fault, not the submission's: {raised!r}"
        return self._verdict(item, status, message, duration, observed.worst, where)

    def _verdict(
        self,
        item: pytest.Item,
        status: Status,
        message: str | None,
        duration: float,
        measurement: Measurement | None = None,
        where: Where | None = None,
    ) -> Verdict:
        worth = self._points[item.nodeid]
        member = self._tests[item.nodeid]
        hidden = Path(item.path).is_relative_to(self._assignment.hidden_tests)
        return Verdict(
            id=item.nodeid,
            exercise=member.exercise,
            aspect=member.aspect,
            status=status,
            score=round(worth, 6) if status is Status.PASSED else 0.0,
            max_score=round(worth, 6),
            visibility=Visibility.HIDDEN if hidden else Visibility.PUBLIC,
            duration_s=round(duration, 6),
            message=None if message is None else plain(message),
            measurement=measurement,
            where=where,
        )


def _explained(verdict: Verdict, findings: Mapping[str, Finding]) -> Verdict:
    finding = findings.get(verdict.exercise)
    if finding is None or verdict.status is not Status.FAILED or verdict.id not in finding.tests:
        return verdict
    return dataclasses.replace(verdict, diagnosis=finding.diagnosis)


ServeSubmissions = Callable[[Judge], None]


def _membership(item: pytest.Item) -> Membership:
    found = membership(item)
    if found is None:
        raise BadAssignment(f"{item.nodeid} has no @exercise(...): to whom should it count?")
    return found


def _about(item: pytest.Item) -> str:
    docstring = getattr(getattr(item, "function", None), "__doc__", None) or item.name
    return str(docstring).strip().splitlines()[0]
