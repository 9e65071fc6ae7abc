"""The suite as a pytest plugin: collects an assignment's tests once, then runs them one by one."""

from __future__ import annotations

import re
import traceback
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NoReturn, TypeVar, cast

import pytest
import torch
from _pytest.runner import runtestprotocol

from grader.core.assignment import Assignment, BadAssignment
from grader.core.names import meant
from grader.core.points import hundredths, points_of, shared_out, total
from grader.core.text import plain
from grader.core.verdict import Aspect, Measurement, Status, Verdict, Visibility
from grader.testing import no_assertions
from grader.testing.assertions import WrongNumbers
from grader.testing.contract import Adapter
from grader.testing.course import (
    Foundations,
    course_code,
    in_building_order,
    load_contract,
    load_foundations,
    load_references,
)
from grader.testing.exercise import Membership, membership, subject_of
from grader.testing.going_on import GoingOn
from grader.testing.handles.bench import Bench
from grader.testing.outcome import Observations, Plainly, StudentFault, running_a_test
from grader.testing.plugin import BENCH

Result = TypeVar("Result")


def share_points(assignment: Assignment, tests: Mapping[str, Membership]) -> dict[str, float]:
    """Returns the points of each test, by its id.

    The points of an exercise's tests add up to those of the exercise. Its tested aspects share
    them in the assignment's proportions; the tests of an aspect share its part by weight. With
    fewer hundredths than tests, some tests carry none.

    Raises:
        BadAssignment: if an exercise has no points, or its aspects or weights sum to 0.
    """
    by_exercise: dict[str, dict[Aspect, list[str]]] = defaultdict(lambda: defaultdict(list))
    for test, member in tests.items():
        by_exercise[member.exercise][member.aspect].append(test)
    for exercise, of_exercise in by_exercise.items():
        if exercise not in assignment.points:
            test = next(iter(of_exercise.values()))[0]
            raise BadAssignment(
                f"{test} is of {exercise}, to which [tool.grader.exercises] gives no points: "
                f"{meant(exercise, assignment.points)}"
            )
    points: dict[str, float] = {}
    for exercise, of_exercise in by_exercise.items():
        of_aspects = _of_aspects(assignment, exercise, [*of_exercise])
        for aspect, names in of_exercise.items():
            weights = [tests[name].weight for name in names]
            if min(weights) < 0 or not 0 < sum(weights) < float("inf"):
                raise BadAssignment(f"the weights of {exercise}'s tests of {aspect} sum to 0")
            parts = shared_out(of_aspects[aspect], weights)
            points |= dict(zip(names, map(points_of, parts), strict=True))
    return points


def _of_aspects(
    assignment: Assignment, exercise: str, tested: Sequence[Aspect]
) -> dict[Aspect, int]:
    shares = {aspect: assignment.aspects.get(aspect, 0.0) for aspect in Aspect if aspect in tested}
    if not any(shares.values()):
        raise BadAssignment(
            f"every test of {exercise} is of an aspect that [tool.grader] gives no share"
        )
    whole = hundredths(assignment.points[exercise])
    return dict(zip(shares, shared_out(whole, [*shares.values()]), strict=True))


@dataclass(frozen=True, slots=True)
class Test:
    """The facts on a test that each verdict repeats; `about` is a sentence for readers."""

    id: str
    exercise: str
    aspect: Aspect
    points: float
    visibility: Visibility
    about: str

    @staticmethod
    def is_outcome(raised: BaseException | None) -> bool:
        """Returns whether a test passed or failed: any other exception is the grader's own."""
        kinds = StudentFault | AssertionError | pytest.fail.Exception
        return raised is None or isinstance(raised, kinds)

    def ended(self, raised: BaseException | None, observed: Observations) -> Verdict:
        """Returns the verdict on a finished test, in words that are not the submission's.

        Any other exception is the grader's own fault. The verdict leaves out how far wrong numbers
        are off, which would reveal the right ones.
        """
        match raised:
            case None:
                notes = "; ".join(observed.notes) or None
                return self.verdict(Status.PASSED, notes, observed.worst)
            case StudentFault():
                return self.verdict(raised.status, raised.message)
            case WrongNumbers():
                return self.verdict(Status.FAILED, f"wrong numbers: {self.about}")
            case _ if self.is_outcome(raised):
                return self.verdict(Status.FAILED, f"does not hold: {self.about}")
        at = f" ({place})" if (place := self._place(raised)) else ""
        message = f"the fault of the test or the grader, not of the submission: {raised!r}{at}"
        return self.verdict(Status.NOT_GRADED, message)

    def _place(self, raised: BaseException | None) -> str:
        """Returns the last line of the test's own file that an exception passed, or ""."""
        file = self.id.partition("::")[0]
        passed = traceback.extract_tb(raised.__traceback__ if raised else None)
        own = [frame.lineno for frame in passed if Path(frame.filename).match(file)]
        return f"{file}:{own[-1]}" if own else ""

    def verdict(
        self, status: Status, message: str | None, measurement: Measurement | None = None
    ) -> Verdict:
        """Returns a verdict on this test."""
        return Verdict(
            id=self.id,
            exercise=self.exercise,
            aspect=self.aspect,
            status=status,
            score=self.points if status is Status.PASSED else 0.0,
            max_score=self.points,
            visibility=self.visibility,
            message=None if message is None else plain(message),
            measurement=measurement,
        )


_QUIET = (
    "cacheprovider debugging doctest faulthandler junitxml logging pastebin setuponly setupplan "
    "stepwise terminal threadexception unraisableexception warnings"
)


# Variables by which a user gives every pytest options and plugins; they must not change a grade.
_OPTIONS = ("PYTEST_ADDOPTS", "PYTEST_PLUGINS")
# A line of a file, as Python's and as pytest's tracebacks write it.
_PLACE = re.compile(r'(?:File "([^"]+)", line (\d+)|^(\S+\.py):(\d+): )', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of a test: the exception that it raised, if any, and its observations."""

    raised: BaseException | None
    observed: Observations


class Suite:
    """An assignment's tests, of the given `exercises` or, if none are given, of all.

    While the suite is open, each test can be run any number of times, at any bench. `tests` are the
    tests by their ids, in the order in which they run.
    """

    def __init__(self, assignment: Assignment, exercises: Sequence[str] = ()) -> None:
        self.assignment = assignment
        self.contract: Mapping[str, Adapter] = {}
        self.references: Mapping[str, Callable[..., Any]] = {}
        self.foundations = Foundations()
        self._exercises = frozenset(exercises)
        self._serve: Callable[[Suite], Any] = lambda _: None
        self._served: Any = None
        self._items: dict[str, pytest.Item] = {}
        self.tests: dict[str, Test] = {}
        self._problem: Exception | None = None
        self._observed = Observations()
        self._raised: BaseException | None = None
        self._going_on: GoingOn | None = None

    def open(self, serve: Callable[[Suite], Result]) -> Result:
        """Collects the tests, then calls `serve`; the suite stays open until `serve` returns.

        Returns the result of `serve`.

        Raises:
            BadAssignment: if the tests or the references cannot be used.
        """
        if said := no_assertions():
            raise BadAssignment(said)
        assignment, root = self.assignment, self.assignment.root
        wanted = (assignment.public_tests, assignment.hidden_tests)
        folders = [str(folder) for folder in wanted if folder.is_dir()]
        if not folders:
            raise BadAssignment(f"{root} has no tests: put some into tests/public and tests/hidden")
        self._serve = serve
        self._load()
        arguments = [
            *folders,
            f"--rootdir={root}",
            f"--config-file={root / 'pyproject.toml'}",
            "--override-ini=addopts=",
            "--import-mode=importlib",
            "--assert=plain",
            "--capture=no",
            # Installed plugins must not change a grade.
            "--disable-plugin-autoload",
            "-pgrader.testing.plugin",
            *(f"-pno:{name}" for name in _QUIET.split()),
        ]
        # One thread: sums come out alike on every machine, and judges do not fight for cores.
        torch.set_num_threads(1)
        with pytest.MonkeyPatch.context() as environment:
            for name in _OPTIONS:
                environment.delenv(name, raising=False)
            code = pytest.main(arguments, plugins=[self])
        if self._problem is not None:
            raise self._problem
        if code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            raise BadAssignment(
                f"the assignment's tests could not be run: pytest ended with {int(code)}, and says "
                "above why"
            )
        result: Result = self._served
        return result

    @property
    def max_score(self) -> float:
        """Returns the points that all tests carry."""
        return total(test.points for test in self.tests.values())

    def run(self, test: str, bench: Bench) -> Ended:
        """Runs a test at a bench, to its first failure."""
        item = self._items[test]
        item.config.stash[BENCH] = bench
        self._raised, self._observed = None, Observations()
        # The next test is not known: without one, pytest tears down all fixtures.
        runtestprotocol(item, log=False, nextitem=None)
        ended = Ended(self._raised, self._observed)
        # Tracebacks would keep answers in memory.
        self._raised, self._observed = None, Observations()
        return ended

    def run_on(self, test: str, bench: Bench) -> Ended:
        """Runs a test at a bench past its failures, so that it makes all of its calls."""
        if self._going_on is None:
            assignment = self.assignment
            self._going_on = GoingOn((assignment.public_tests, assignment.hidden_tests))
        with self._going_on.exchanged():
            return self.run(test, bench)

    def unexamined(self, status: Status, message: str) -> tuple[Verdict, ...]:
        """Returns the same verdict on every test, for a submission that cannot be examined."""
        return tuple(test.verdict(status, message) for test in self.tests.values())

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        """Keeps pytest from setting up a student's bench: `run` gets a bench as an argument."""

        def refuse(_: object) -> NoReturn:
            raise RuntimeError("a test was run outside of its suite")

        config.stash[BENCH] = Bench(self.contract, refuse, self.references, refuse, 0, Plainly())

    @pytest.hookimpl
    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Refuses a test module that cannot be imported: every grade would be wrong."""
        if not report.passed:  # a module that skips itself would leave its points to others
            text = str(report.longrepr).strip()
            last = text.splitlines()[-1].removeprefix("E ").strip()
            places = [":".join(filter(None, found)) for found in _PLACE.findall(text)]
            at = f" ({Path(places[-1]).name})" if places else ""
            with self._stopping():
                raise BadAssignment(f"{report.nodeid} cannot be collected: {last}{at}")

    @pytest.hookimpl
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Shares out the points, and selects the exercises that were asked for."""
        with self._stopping():
            members = {item.nodeid: _membership(item) for item in session.items}
            points = share_points(self.assignment, members)
            tests = {
                item.nodeid: self._test(item, members[item.nodeid], points[item.nodeid])
                for item in session.items
            }
            self.tests = {test.id: test for test in self._selected(tests.values())}
            self._items = {item.nodeid: item for item in session.items}

    @pytest.hookimpl
    def pytest_runtestloop(self) -> bool:
        """Serves in place of pytest's single pass over the tests."""
        with self._stopping():
            self._served = self._serve(self)
        return True

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Keeps a test's measurements and notes; hidden tests do not show expected values."""
        with running_a_test(shows_expected=self._is_public(item)) as observations:
            self._observed = observations
            return (yield)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[Any]
    ) -> pytest.TestReport:
        """Keeps the first exception, which decides the verdict, and renders no traceback."""
        if call.excinfo is not None and self._raised is None:
            self._raised = call.excinfo.value
        outcome: Literal["passed", "failed"] = "passed" if call.excinfo is None else "failed"
        phase = cast(Literal["setup", "call", "teardown"], call.when)
        return pytest.TestReport(
            item.nodeid, item.location, {}, outcome, None, phase, duration=call.duration
        )

    @contextmanager
    def _stopping(self) -> Iterator[None]:
        """Ends pytest quietly at an exception, which `open` raises again."""
        try:
            yield
        except Exception as problem:
            self._problem = self._problem or problem
            pytest.exit("the suite stopped", returncode=pytest.ExitCode.INTERNAL_ERROR)

    def _load(self) -> None:
        root = self.assignment.root
        with course_code("adapters.py", root):
            self.contract = load_contract(root)
        self._require("adapters.py", self.contract)
        self.references = load_references(root)
        points = self.assignment.points
        self.foundations = load_foundations(root, [*points])
        # Reports name a cause at its first exercise, which must be the one that others build on.
        points = in_building_order(points, self.foundations.builds_on)
        self.assignment = replace(self.assignment, points=points)
        self._require("solutions/__init__.py", self.references)

    def _require(self, place: str, functions: Iterable[str]) -> None:
        """Refuses an exercise without an adapter or a reference."""
        known = tuple(functions)
        for exercise in self.assignment.points:
            if exercise not in known:
                raise BadAssignment(
                    f"{place} has no {exercise}, which [tool.grader.exercises] lists: "
                    f"{meant(exercise, known) if known else 'write it'}"
                )

    def _selected(self, tests: Iterable[Test]) -> list[Test]:
        known = list(tests)
        tested = {test.exercise for test in known}
        untested = sorted(set(self.assignment.points) - tested)
        if untested:
            raise BadAssignment(f"[tool.grader.exercises] lists {untested[0]}, but no test of it")
        wanted = self._exercises or tested
        order = list(self.assignment.points)
        chosen = [test for test in known if test.exercise in wanted]

        def place(test: Test) -> tuple[int, bool]:
            """Returns the order of a test: by exercise, with the values first."""
            return order.index(test.exercise), test.aspect is not Aspect.VALUES

        return sorted(chosen, key=place)

    def _test(self, item: pytest.Item, member: Membership, points: float) -> Test:
        visibility = Visibility.PUBLIC if self._is_public(item) else Visibility.HIDDEN
        about = subject_of(item) or item.name
        return Test(item.nodeid, member.exercise, member.aspect, points, visibility, about)

    def _is_public(self, item: pytest.Item) -> bool:
        return not Path(item.path).is_relative_to(self.assignment.hidden_tests)


def _membership(item: pytest.Item) -> Membership:
    found = membership(item)
    if found is None:
        raise BadAssignment(f"{item.nodeid} has no @exercise(...): which exercise does it test?")
    return found
