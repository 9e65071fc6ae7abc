"""Work of fixed size: a mask or a table of constant size does not count as growth."""

from __future__ import annotations

import itertools

import pytest
import torch

from grader.core.wire.calls import Answer, Work
from grader.explain.answers import InFull
from grader.testing.assertions import assert_work_does_not_grow
from grader.testing.cases import fresh_case
from grader.testing.contract import Adapter
from grader.testing.handles.handle import Reference, Student
from grader.testing.kinds import TensorType

pytestmark = pytest.mark.unit

FLOATS = TensorType("floating-point", ("...", "n"))


def assert_growth_allowed(*works: Work) -> None:
    """Asserts that a program with this counted work grows no faster than it may."""
    adapter = Adapter("run_double", {"x": FLOATS}, FLOATS)
    counted = itertools.cycle(works)
    student = Student(
        adapter,
        lambda call: Answer(2 * call.arguments["x"], work=next(counted)),
        1,
        lambda *_: None,
        InFull(),
    )
    reference = Reference(adapter, {"run_double": lambda x: 2 * x}, fresh_case(1, "test"))
    assert_work_does_not_grow(student, reference, {"x": torch.ones(4)}, {"x": torch.ones(64)})


def test_a_table_of_constant_size_is_allowed():
    """Many books build one causal mask of 1024 positions and use a part of it."""
    assert_growth_allowed(Work(5, 1 << 20), Work(5, 1 << 20))


@pytest.mark.parametrize(
    ("small", "large", "says"),
    [
        (Work(5, 16), Work(5, 4096), "makes a tensor of 4096 elements on the way, where"),
        (
            Work(5, 16),
            Work(65, 16),
            "makes 65 torch operations for a larger input, and 5 for a small one",
        ),
        (Work(5, 1 << 20), Work(5, 1 << 24), "makes a tensor of 16777216 elements"),
    ],
)
def test_work_that_grows_too_fast_is_reported(small, large, says):
    """The largest tensor may grow too fast, or the number of operations."""
    with pytest.raises(AssertionError, match=says):
        assert_growth_allowed(small, large)
