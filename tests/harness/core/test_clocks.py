"""No test asserts on a wall clock: such a test would fail on a busy machine.

Assert on an event, or on processor time (`time.process_time`, `resource.getrusage`). Wall times are
figures, which `benchmarks/` prints.
"""

from __future__ import annotations

import ast
from collections.abc import Container, Iterator

import pytest

from tests.harness.conftest import ROOT

pytestmark = pytest.mark.unit

PLACES = ("tests/**/*.py", "examples/*/tests/**/*.py")
CLOCKS = {"monotonic", "perf_counter", "time_ns", "monotonic_ns", "perf_counter_ns"}
# Seconds that the grader or another part of the tests measured with a wall clock.
MEASURED = {"duration_s", "seconds"}
ORDERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def lines_that_assert_a_clock(source: str) -> Iterator[int]:
    """Yields the lines of assertions that compare a wall clock's time."""
    if not any(name in source for name in (*CLOCKS, *MEASURED, "time.time")):
        return  # to search the syntax trees of all tests takes seconds
    for function in ast.walk(ast.parse(source)):
        if isinstance(function, ast.FunctionDef):
            told = _clock_variables(function)
            for one in ast.walk(function):
                if isinstance(one, ast.Assert) and _compares_a_clock(one.test, told):
                    yield one.lineno


def _clock_variables(function: ast.FunctionDef) -> set[str]:
    """Returns the variables of a function that hold a wall clock's time."""
    told: set[str] = set()
    values = [
        (one.targets if isinstance(one, ast.Assign) else [one.target], one.value)
        for one in ast.walk(function)
        if isinstance(one, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.NamedExpr)
    ]
    known = -1
    while len(told) > known:  # each round follows assignments one step further
        known = len(told)
        for targets, value in values:
            if value is not None and _contains_a_clock(value, told):
                told |= {at.id for to in targets for at in ast.walk(to) if isinstance(at, ast.Name)}
    return told


def _compares_a_clock(test: ast.expr, told: Container[str]) -> bool:
    """Returns whether a measured time is compared with anything but zero."""
    for one in ast.walk(test):
        if isinstance(one, ast.Compare) and any(isinstance(by, ORDERS) for by in one.ops):
            sides = [one.left, *one.comparators]
            has_zero = any(isinstance(side, ast.Constant) and side.value == 0 for side in sides)
            if not has_zero and any(_contains_a_clock(side, told) for side in sides):
                return True
    return False


def _contains_a_clock(value: ast.expr, told: Container[str]) -> bool:
    """Returns whether an expression contains a wall clock's time."""
    for one in ast.walk(value):
        match one:
            case ast.Name(id=name) if name in told or name in CLOCKS:
                return True
            case ast.Attribute(attr=name) if name in CLOCKS or name in MEASURED:
                return True
            case ast.Attribute(value=ast.Name(id="time"), attr="time"):
                return True
            case ast.Constant(value=str(key)) if key in MEASURED:
                return True
    return False


@pytest.mark.parametrize("place", PLACES)
def test_no_test_asserts_on_a_wall_clock(place):
    """Events and processor time do not depend on other processes."""
    found = [
        f"{file.relative_to(ROOT)}:{line}"
        for file in sorted(ROOT.glob(place))
        for line in lines_that_assert_a_clock(file.read_text("utf-8"))
    ]
    assert not found


@pytest.mark.parametrize(
    "body",
    [
        "assert time.monotonic() < end",
        "began = time.perf_counter(); work(); assert time.perf_counter() - began < 5",
        "began = time.time(); took = time.time() - began; assert ready and took <= 5, took",
        "if (took := monotonic() - began) > 1: assert 1 < took < 5",
        "assert max(row['duration_s'] for row in rows) < 10",
        "assert outcome.seconds <= allowed",
    ],
)
def test_a_wall_clock_is_found_in_an_assertion(body):
    """The time may stand there directly, come through variables, or be measured elsewhere."""
    assert [*lines_that_assert_a_clock(f"def test():\n    {body}\n")] == [2]


@pytest.mark.parametrize(
    "body",
    [
        "began = time.process_time(); work(); assert time.process_time() - began < 5",
        "assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime < 100",
        "end = time.monotonic() + 60; assert found",
        "if time.monotonic() > end: pytest.fail('it never came')",
        "assert imports.seconds['torch'] > 0",
        "assert kept == row['duration_s']",
    ],
)
def test_assertions_on_processor_time_and_deadlines_are_allowed(body):
    """Processor time, deadlines that end a broken test, and a comparison with zero are fine."""
    assert not [*lines_that_assert_a_clock(f"def test():\n    {body}\n")]
