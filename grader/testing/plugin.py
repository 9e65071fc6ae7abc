"""The pytest plugin of an assignment's tests: marks and fixtures, in class and at home."""

from __future__ import annotations

import importlib

import pytest

from grader.testing import no_assertions, not_installed
from grader.testing.cases import Case, Draw
from grader.testing.exercise import Membership, membership
from grader.testing.handles.bench import Bench
from grader.testing.handles.handle import Reference, Student

BENCH = pytest.StashKey[Bench]()
LOCATE, CALL_TIMEOUT = "--locate", "--call-timeout"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the options for students."""
    group = parser.getgroup("grader")
    group.addoption(
        CALL_TIMEOUT,
        type=float,
        metavar="SECONDS",
        help="end a call of your code that takes longer (0: none); the assignment says how long",
    )
    group.addoption(
        LOCATE,
        action="store_true",
        help="find the line to change of every failed test, however long that takes",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Registers the marks; without a judge, the bench is the student's own machine."""
    if said := no_assertions():
        raise pytest.UsageError(said)
    config.addinivalue_line("markers", "exercise(name, aspect, weight): the exercise of a test")
    config.addinivalue_line("markers", "aspect(name): the aspect that one parameter looks at")
    if BENCH not in config.stash:
        try:
            home = importlib.import_module("grader.home.plugin")
        except ModuleNotFoundError as missing:
            raise pytest.UsageError(not_installed(missing)) from None
        config.pluginmanager.register(home)


@pytest.fixture
def case(request: pytest.FixtureRequest) -> Case:
    """Returns the inputs and expected values of this test, rewound to the first."""
    return _bench(request).case_of(request.node.nodeid).rewind()


@pytest.fixture
def draw(case: Case) -> Draw:
    """Draws inputs: fresh for every batch, frozen at home."""
    return Draw(case)


@pytest.fixture
def student(request: pytest.FixtureRequest) -> Student:
    """Returns the student's function of this test's exercise."""
    return _bench(request).student(_membership(request), request.node.nodeid)


@pytest.fixture
def reference(request: pytest.FixtureRequest, case: Case) -> Reference:
    """Returns the right solution of this test's exercise, in float64."""
    return _bench(request).reference(_membership(request).exercise, case)


def _bench(request: pytest.FixtureRequest) -> Bench:
    return request.config.stash[BENCH]


def _membership(request: pytest.FixtureRequest) -> Membership:
    found = membership(request.node)
    if found is None:
        pytest.fail(f"{request.node.nodeid} has no @exercise(...)", pytrace=False)
    return found
