"""The judge as a pytest plugin: collects the tests once, then runs them for each submission."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Container, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, Protocol, cast

import pytest
import torch
from _pytest.runner import runtestprotocol

from grader.assignment import Assignment, BadAssignment, meant
from grader.evidence import Evidence, Picture
from grader.explaining.explanation import explain
from grader.explaining.naming.mistakes import KnownMistakes, load_mistakes
from grader.explaining.wording import InFull
from grader.judge.gate import gated
from grader.judge.memory import Interview, Memory, Remembered
from grader.judge.points import share_points
from grader.judge.verdicts import Test
from grader.points import total
from grader.sandbox.replies import Reply, opened
from grader.settings import CPU
from grader.testing.assertions import WrongNumbers
from grader.testing.bench import Bench
from grader.testing.cases import Case, fresh_case
from grader.testing.course import course_code, load_contract, load_references
from grader.testing.exercise import Membership, membership
from grader.testing.observation import Observation
from grader.testing.outcome import Observations, observing
from grader.testing.plugin import BENCH
from grader.verdict import Aspect, Status, Verdict, Visibility, Where
from grader.wire.calls import Answer, Call

_QUIET = (
    "cacheprovider debugging doctest faulthandler junitxml logging pastebin setuponly setupplan "
    "stepwise terminal threadexception unraisableexception warnings"
)


class Examinee(Protocol):
    """Whoever answers the calls of the tests for one submission."""

    def ask(self, call: Call) -> Reply:
        """The answer to a call; raises StudentFault if there is none."""


class Judge:
    """Runs an assignment's tests; `grade` may be called for one submission after another.

    Cases are drawn once and kept: every submission of a batch gets the same inputs. They are put on
    `device` where a submission's function is called.
    """

    def __init__(
        self,
        assignment: Assignment,
        seed: int,
        exercises: Sequence[str],
        serve: ServeSubmissions,
        device: str = CPU,
    ) -> None:
        self._assignment = assignment
        self._seed = seed
        self._exercises = frozenset(exercises)
        self._serve = serve
        self._device = device
        self._cases: dict[str, Case] = {}
        self._items: list[pytest.Item] = []
        self._tests: dict[str, Test] = {}
        self._memory = Memory()
        self._interview: Interview | None = None
        self._sitting: Examinee | None = None
        self._problem: Exception | None = None
        self._bench: Bench | None = None
        self.mistakes = KnownMistakes({})
        self.evidence = Evidence()
        self._pictures: list[Picture] = []
        self._observed = Observations()
        self._raised: BaseException | None = None

    def run(self) -> None:
        """Collects the tests, then serves submissions until there are no more.

        Raises:
            BadAssignment: if the tests, references or mistakes cannot be used as they are.
        """
        root = self._assignment.root
        wanted = (self._assignment.public_tests, self._assignment.hidden_tests)
        folders = [str(folder) for folder in wanted if folder.is_dir()]
        if not folders:
            raise BadAssignment(f"{root} has no tests: put some into tests/public and tests/hidden")
        self._bench = self._laid_out()
        arguments = [
            *folders,
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
            raise BadAssignment(
                f"the assignment's tests could not be run: pytest ended with {int(code)}, and says "
                "above why"
            )

    @property
    def max_score(self) -> float:
        """The points that all selected tests carry."""
        return total(self._tests[item.nodeid].points for item in self._items)

    def grade(
        self, sitting: Examinee, exercises: Container[str] | None = None
    ) -> Iterator[Verdict]:
        """The verdict of every test (of `exercises`) on a submission, as each is reached.

        It is asked on by `explained`, and is the caller's to close.
        """
        self._sitting = sitting
        self.observations.clear()
        self._pictures.clear()
        wanted = [
            item
            for item in self._items
            if exercises is None or self._tests[item.nodeid].exercise in exercises
        ]
        yield from gated(self._examine(item, sitting) for item in wanted)

    def explained(self, verdicts: Iterable[Verdict]) -> tuple[Verdict, ...]:
        """The last submission's verdicts, with its mistakes and their lines where these are known.

        No status and no score is changed.
        """
        reached = tuple(verdicts)
        seen = {name: self.observations.get(name, []) for name in self._assignment.points}
        sitting = self._sitting
        if sitting is None:
            raise RuntimeError("verdicts are explained of the submission that was graded last")
        explained, walks = explain(
            reached, self.mistakes, lambda call: opened(sitting.ask(call)), seen
        )
        self.evidence = Evidence(tuple(self._pictures), walks)
        return explained

    @property
    def observations(self) -> dict[str, list[Observation]]:
        """The last submission's answers, by exercise."""
        return self._bench.observations if self._bench is not None else {}

    def unexamined(
        self, status: Status, message: str, where: Where | None = None
    ) -> Iterator[Verdict]:
        """The same verdict of every test, for a submission that cannot be examined."""
        for item in self._items:
            yield self._tests[item.nodeid].verdict(status, message, where=where)

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        """Shows the tests the bench at which they find this judge's submission."""
        if self._bench is not None:
            config.stash[BENCH] = self._bench

    @pytest.hookimpl
    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A test module that cannot be imported makes every grade wrong: nothing is graded."""
        if report.failed:
            last = str(report.longrepr).strip().splitlines()[-1].removeprefix("E ").strip()
            with self._stopping():
                raise BadAssignment(f"{report.nodeid} cannot be collected: {last}")

    @pytest.hookimpl
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Shares out the points, and selects the exercises that were asked for."""
        with self._stopping():
            members = {item.nodeid: _membership(item) for item in session.items}
            points = share_points(self._assignment, members)
            self._tests = {
                item.nodeid: self._test(item, members[item.nodeid], points[item.nodeid])
                for item in session.items
            }
            self._items = self._selected(session.items)

    @pytest.hookimpl
    def pytest_runtestloop(self) -> bool:
        """Serves submissions in place of pytest's single pass over the tests."""
        with self._stopping():
            self._serve(self)
        return True

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Keeps what the test measures and notes; a hidden one does not tell what it expects."""
        with observing(shows_expected=self._is_public(item)) as observations:
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

    def _laid_out(self) -> Bench:
        root = self._assignment.root
        with course_code("adapters.py", root):
            contract = load_contract(root)
        references = load_references(root)
        self._require("adapters.py", contract)
        self._require("solutions/__init__.py", references)
        self.mistakes = load_mistakes(root, references)
        return Bench(
            contract, self._ask, references, self.case, self._seed, InFull(), device=self._device
        )

    def _require(self, place: str, functions: Iterable[str]) -> None:
        """Every exercise has its adapter and its reference, or nobody can be graded on it."""
        known = tuple(functions)
        for exercise in self._assignment.points:
            if exercise not in known:
                raise BadAssignment(
                    f"{place} has no {exercise}, which [tool.grader.exercises] lists: "
                    f"{meant(exercise, known) if known else 'write it'}"
                )

    def _selected(self, items: Sequence[pytest.Item]) -> list[pytest.Item]:
        tested = {member.exercise for member in self._tests.values()}
        untested = sorted(set(self._assignment.points) - tested)
        if untested:
            raise BadAssignment(f"[tool.grader.exercises] lists {untested[0]}, but no test of it")
        wanted = self._exercises or tested
        order = list(self._assignment.points)

        def place(item: pytest.Item) -> tuple[int, bool]:
            """Exercise by exercise; its values first, which tell how much the rest counts."""
            test = self._tests[item.nodeid]
            return order.index(test.exercise), test.aspect is not Aspect.VALUES

        chosen = [item for item in items if self._tests[item.nodeid].exercise in wanted]
        return sorted(chosen, key=place)

    def _ask(self, call: Call) -> Answer:
        if self._interview is None:
            raise RuntimeError("a test asked for a submission while none was being graded")
        return self._interview.ask(call)

    def case(self, test_id: str) -> Case:
        """What a test draws and expects: the same for every submission."""
        if test_id not in self._cases:
            self._cases[test_id] = fresh_case(self._seed, test_id)
        return self._cases[test_id]

    def _examine(self, item: pytest.Item, sitting: Examinee) -> Verdict:
        """The verdict on a test: remembered, if the same answers were given before, or reached."""
        test, started = self._tests[item.nodeid], time.monotonic()
        asked, remembered = self._memory.follow(test.id, sitting.ask)
        if remembered is None:
            self._interview = Interview(sitting.ask, asked)
            remembered = self._run(item)
            self._memory.learn(test.id, self._interview.asked, remembered)
        else:
            self.observations.setdefault(test.exercise, []).extend(remembered.observations)
        self._pictures += remembered.pictures
        duration = round(time.monotonic() - started, 6)
        return remembered.verdict._replace(duration_s=duration)

    def _run(self, item: pytest.Item) -> Remembered:
        test = self._tests[item.nodeid]
        seen = self.observations.setdefault(test.exercise, [])
        before = len(seen)
        self._raised, self._observed = None, Observations()
        # Whatever it has set up is torn down: nobody knows which test is the next to be run.
        runtestprotocol(item, log=False, nextitem=None)
        raised = self._raised
        pictures: Iterable[Picture] = ()
        if isinstance(raised, WrongNumbers) and test.visibility is Visibility.PUBLIC:
            pictures = raised.pictures(test.id)
        verdict = test.ended(raised, self._observed, 0.0)
        return Remembered(verdict, tuple(seen[before:]), tuple(pictures))

    def _test(self, item: pytest.Item, member: Membership, points: float) -> Test:
        visibility = Visibility.PUBLIC if self._is_public(item) else Visibility.HIDDEN
        return Test(item.nodeid, member.exercise, member.aspect, points, visibility, _about(item))

    def _is_public(self, item: pytest.Item) -> bool:
        return not Path(item.path).is_relative_to(self._assignment.hidden_tests)


ServeSubmissions = Callable[[Judge], None]


def _membership(item: pytest.Item) -> Membership:
    found = membership(item)
    if found is None:
        raise BadAssignment(f"{item.nodeid} has no @exercise(...): to whom should it count?")
    return found


def _about(item: pytest.Item) -> str:
    docstring = getattr(getattr(item, "function", None), "__doc__", None) or item.name
    return str(docstring).strip().splitlines()[0]
