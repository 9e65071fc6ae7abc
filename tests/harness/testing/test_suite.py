"""The suite: which tests it collects, what it refuses, and how a test ends."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from grader.core.assignment import BadAssignment
from grader.core.verdict import Aspect, Measurement, Status, Visibility
from grader.testing import plugin
from grader.testing import suite as suites
from grader.testing.assertions import WrongNumbers
from grader.testing.cases import fresh_case
from grader.testing.comparison import FLOAT32, compare
from grader.testing.handles.bench import Bench
from grader.testing.outcome import Observations, Plainly, StudentFault
from grader.testing.suite import Suite
from tests.harness.conftest import TINY, write_files
from tests.harness.opened_suites import Answers, opened

pytestmark = pytest.mark.unit

HIDDEN = """
    import pytest
    from grader.testing import aspect, assert_matches, exercise

    @exercise("run_count", aspect="generality", weight=3)
    def test_counts(student, reference, draw):
        '''Many numbers are counted.

        More is said here.
        '''
        x = draw(4)
        assert_matches(student(x), reference(x))

    @exercise("run_double")
    @pytest.mark.parametrize("size", [2, pytest.param(3, marks=aspect("numerics"))])
    def test_doubles(student, reference, draw, size):
        x = draw(size)
        assert_matches(student(x), reference(x))

    @exercise("run_count", aspect="generality")
    def test_counts_again(student, draw, tmp_path):
        '''The same twice.'''
        first = student(draw(2))
        assert first == 3
        assert student(draw(5)) == first
    """
COURSE = {name: TINY[name] for name in ("pyproject.toml", "adapters.py", "tests/conftest.py")} | {
    "solutions/__init__.py": TINY["solutions/__init__.py"],
    "tests/public/test_tiny.py": TINY["tests/public/test_tiny.py"],
    "tests/hidden/test_more.py": HIDDEN,
}
RIGHT = {"run_double": lambda x: 2 * x, "run_count": lambda x: x.numel()}


@pytest.fixture(scope="module")
def course(tmp_path_factory) -> Path:
    """A course with public and hidden tests."""
    return write_files(tmp_path_factory.mktemp("course"), COURSE)


def bench(suite: Suite, examinee: Answers) -> Bench:
    """Returns a bench at which functions answer."""
    case_of: Callable[[str], Any] = lambda test: fresh_case(7, test)  # noqa: E731
    return Bench(suite.contract, examinee, suite.references, case_of, 7, Plainly())


PUBLIC_TESTS, MORE = "tests/public/test_tiny.py", "tests/hidden/test_more.py"


def test_tests_come_by_exercise_with_the_values_first(course):
    """Each has the points of its share, and says whether students have it."""
    tests = opened(course, lambda suite: [*suite.tests.values()])
    assert [(one.id, one.aspect.value, one.points, one.visibility.value) for one in tests] == [
        (f"{PUBLIC_TESTS}::test_doubles", "values", 1.72, "public"),
        (f"{MORE}::test_doubles[2]", "values", 1.71, "hidden"),
        (f"{MORE}::test_doubles[3]", "numerics", 0.57, "hidden"),
        (f"{PUBLIC_TESTS}::test_counts", "values", 0.8, "public"),
        (f"{MORE}::test_counts", "generality", 0.15, "hidden"),
        (f"{MORE}::test_counts_again", "generality", 0.05, "hidden"),
    ]
    about = {one.id.rpartition("::")[2]: one.about for one in tests if one.id.startswith(MORE)}
    assert about["test_counts"] == "Many numbers are counted."
    assert about["test_doubles[2]"] == "test_doubles[2]"


def test_a_suite_of_some_exercises_keeps_their_points(course):
    """The other tests do not count."""

    def look(suite: Suite) -> tuple[set[str], float]:
        return {test.exercise for test in suite.tests.values()}, suite.max_score

    assert opened(course, look, ["run_count"]) == ({"run_count"}, 1.0)
    assert opened(course, look) == ({"run_double", "run_count"}, 5.0)


@pytest.mark.process(takes="a second")
def test_each_test_can_be_run_any_number_of_times(course):
    """A test ends at its first failure, or runs past all of them to make all its calls."""

    def look(suite: Suite) -> None:
        examinee = Answers(RIGHT)
        own = bench(suite, examinee)
        for _ in range(2):
            ended = suite.run(f"{MORE}::test_counts", own)
            assert (ended.raised, len(ended.observed.measurements)) == (None, 0)
            assert not ended.observed.shows_expected, "it is hidden"
            ended = suite.run(f"{PUBLIC_TESTS}::test_doubles", own)
            assert (ended.raised, len(ended.observed.measurements)) == (None, 1)
            assert ended.observed.shows_expected
        examinee.calls.clear()
        again = f"{MORE}::test_counts_again"
        assert isinstance(suite.run(again, own).raised, AssertionError)
        assert len(examinee.calls) == 1
        assert suite.run_on(again, own).raised is None
        assert len(examinee.calls) == 3
        assert isinstance(suite.run(again, own).raised, AssertionError)
        assert len(examinee.calls) == 4, "the test is as before"
        missing = dataclasses.replace(own, contract={})
        fault = suite.run(again, missing).raised
        assert isinstance(fault, StudentFault)
        assert fault.status is Status.MISSING

    opened(course, look)


SWALLOWING = """
    import contextlib
    import pytest
    from grader.testing import assert_inputs_unchanged, exercise

    @exercise("run_double")
    def test_refuses(student, draw):
        with pytest.raises(Exception):
            student(draw(2))

    @exercise("run_count")
    def test_lines(student, draw):
        with contextlib.suppress(Exception):
            student.count_lines(draw(2))

    @exercise("run_count")
    def test_inputs(student, draw):
        with contextlib.suppress(Exception):
            assert_inputs_unchanged(student, draw(2))
    """


@pytest.mark.process(takes="a second")
def test_a_test_cannot_swallow_that_there_was_no_answer(tmp_path):
    """A test that expects an exception passes for no unwritten function."""

    def absent(x):
        raise NotImplementedError

    def look(suite: Suite) -> None:
        own = bench(suite, Answers(dict.fromkeys(RIGHT, absent)))
        for name in ("test_refuses", "test_lines", "test_inputs"):
            raised = suite.run(f"{MORE}::{name}", own).raised
            assert isinstance(raised, StudentFault), name
            assert raised.status is Status.MISSING

    opened(write_files(tmp_path, COURSE | {MORE: SWALLOWING}), look)


def test_a_submission_that_cannot_be_examined_gets_one_verdict_on_all_tests(course):
    verdicts = opened(course, lambda suite: suite.unexamined(Status.ERROR, "no\x1b[2J code"))
    assert {(one.status, one.message, one.score) for one in verdicts} == {
        (Status.ERROR, "no code", 0.0)
    }
    assert len(verdicts) == 6


def test_the_result_of_serving_comes_back_and_so_do_exceptions(course):
    assert opened(course, lambda _: "served") == "served"

    def fail(_: Suite) -> None:
        raise LookupError("lost")

    with pytest.raises(LookupError, match="lost"):
        opened(course, fail)


# --- Courses that cannot be used ----------------------------------------------------------------

NO_MARK = "\n    def test_nothing(student):\n        pass\n"
OTHER = '\n    @exercise("run_other")\n    def test_other(student):\n        pass\n'
OF_COUNT = '@exercise("run_count")'


@pytest.mark.parametrize(
    ("part", "old", "new", "said"),
    [
        (MORE, "import pytest", "import no_such_module", "more.py cannot be collected: .*no_such"),
        (MORE, "import pytest", "import pytest:",
         r"more.py cannot be collected: .*Syntax.* \(test_more.py:\d+\)"),
        (MORE, None, NO_MARK, "test_nothing has no @exercise"),
        (MORE, None, OTHER,
         "more.py::test_other is of run_other, to which .* gives no points: there is run_"),
        ("pyproject.toml", "run_count = 1", "run_count = 1\n        run_more = 1",
         "adapters.py has no run_more, which .* lists: "),
        ("solutions/__init__.py", "run_count", "run_cuont", "__init__.py has no run_count"),
        ("solutions/__init__.py", "def run_double", "1 / 0\n        def run_double",
         r"solutions/ cannot be used: ZeroDivisionError: .* \(solutions/__init__.py:2\)"),
        ("adapters.py", "import assignment", "import no_such_module", "adapters.py cannot be used"),
        ("adapters.py", "-> int", "-> complex", "run_count, its result: complex cannot"),
        (PUBLIC_TESTS, OF_COUNT, '@exercise("run_double")', "lists run_count, but no test of it"),
        ("pyproject.toml", "[tool.grader.exercises]",
         "[tool.grader.aspects]\n        gradients = 100\n        [tool.grader.exercises]",
         "every test of run_.* is of an aspect that .* gives no share"),
    ],
)  # fmt: skip
def test_a_course_that_cannot_be_used_is_refused_in_one_sentence(tmp_path, part, old, new, said):
    """Otherwise every grade would be wrong."""
    files = dict(COURSE)
    files["tests/hidden/test_more.py"] = HIDDEN if part == MORE else ""
    if "adapters" not in part:
        files["adapters.py"] = COURSE["adapters.py"].replace("import assignment", "")
    else:
        files["assignment/__init__.py"] = "..."
    if old is not None:
        assert old in files[part]
    files[part] = files[part] + new if old is None else files[part].replace(old, new)
    with pytest.raises(BadAssignment, match=said) as refused:
        opened(write_files(tmp_path, files), lambda _: None)
    assert len(str(refused.value).splitlines()) == 1


def test_python_without_assertions_is_refused(tmp_path, monkeypatch):
    """No test could fail."""
    monkeypatch.setattr("sys.flags", types.SimpleNamespace(optimize=1))
    with pytest.raises(BadAssignment, match="unset PYTHONOPTIMIZE"):
        opened(write_files(tmp_path, COURSE), lambda _: None)
    with pytest.raises(pytest.UsageError, match="unset PYTHONOPTIMIZE"):
        plugin.pytest_configure(None)


def test_a_course_without_tests_is_refused(tmp_path):
    files = {name: text for name, text in COURSE.items() if not name.startswith("tests/")}
    with pytest.raises(BadAssignment, match="has no tests: put some into tests/public"):
        opened(write_files(tmp_path, files), lambda _: None)
    (tmp_path / "tests" / "public").mkdir(parents=True)
    with pytest.raises(BadAssignment, match="lists run_count, but no test of it"):
        opened(tmp_path, lambda _: None)


# --- The end of a test --------------------------------------------------------------------------

NEAR = Measurement(0.1, 0.1, 1e-6, 1e-5, 0.5)
FAR = NEAR._replace(error_over_tolerance=0.9)
OF_ONE = suites.Test("a.py::test_b", "run_b", Aspect.VALUES, 2.5, Visibility.HIDDEN, "It is right.")


def wrong_numbers() -> WrongNumbers:
    import torch

    return WrongNumbers("it", compare(torch.ones(2), torch.zeros(2), FLOAT32), ("n",))


@pytest.mark.parametrize(
    ("raised", "status", "message", "is_outcome"),
    [
        (None, Status.PASSED, "one; two", True),
        (StudentFault(Status.TIMEOUT, "late\x1b[2J"), Status.TIMEOUT, "late", True),
        (wrong_numbers(), Status.FAILED, "wrong numbers: It is right.", True),
        (AssertionError("5 != 6"), Status.FAILED, "does not hold: It is right.", True),
        (pytest.fail.Exception("no"), Status.FAILED, "does not hold: It is right.", True),
        (
            ValueError("x"),
            Status.NOT_GRADED,
            "the fault of the test or the grader, not of the submission: ValueError('x')",
            False,
        ),
    ],
    ids=lambda one: type(one).__name__,
)
def test_a_verdict_tells_no_number_of_the_graded_draw(raised, status, message, is_outcome):
    """Only a test that passed has notes, and the largest of its errors."""
    observed = Observations(notes=["one", "two"], measurements=[NEAR, FAR])
    verdict = OF_ONE.ended(raised, observed)
    assert (verdict.status, verdict.message) == (status, message)
    assert (verdict.score, verdict.max_score) == (2.5 if raised is None else 0.0, 2.5)
    assert verdict.measurement == (FAR if raised is None else None)
    assert suites.Test.is_outcome(raised) is is_outcome
    assert (verdict.id, verdict.exercise, verdict.aspect, verdict.visibility) == OF_ONE_SHORT
    assert OF_ONE.ended(None, Observations()).message is None


OF_ONE_SHORT = ("a.py::test_b", "run_b", Aspect.VALUES, Visibility.HIDDEN)
