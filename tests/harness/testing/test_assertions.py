"""Assertions of tests: when each fails, and what its message holds."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch

from grader.core.evidence import LARGEST_PICTURE
from grader.core.verdict import Status, Where
from grader.core.wire.calls import Answer, Call, Raised, Work
from grader.core.wire.records import Line
from grader.core.wire.values import Elsewhere
from grader.testing.assertions import (
    WrongForm,
    WrongNumbers,
    assert_gradients_match,
    assert_inputs_unchanged,
    assert_keeps_dtype,
    assert_matches,
    assert_runs_on_another_device,
    assert_same_answer_twice,
    assert_work_does_not_grow,
)
from grader.testing.cases import fresh_case
from grader.testing.comparison import FLOAT32, Tolerance, compare
from grader.testing.contract import Adapter, kind_of
from grader.testing.handles.handle import Reference, Student
from grader.testing.kinds import Anything, TensorType
from grader.testing.outcome import Observations, Plainly, Returned, StudentFault, observing

pytestmark = pytest.mark.unit

FLOATS = TensorType("floating-point", ("...", "n"))
LINE = Line("a.py", 7, "return x")
X = torch.arange(1.0, 4.0)


def wrong(actual: Any, expected: Any, kind: Any = WrongNumbers, shown: bool = True) -> Any:
    """Returns the failure of a comparison."""
    with observing(shows_expected=shown), pytest.raises(kind) as raised:
        assert_matches(actual, expected)
    return raised.value


def first(sentences: Any) -> str:
    return next(iter(sentences))


def returned(tensor: torch.Tensor, dtype: torch.dtype) -> Observations:
    """Returns observations in which the submission returned a tensor, made by `LINE`."""
    known = Returned(tensor, ("seq", "d"), dtype, lambda: LINE)
    return Observations(returned=[known])


# --- Values -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("actual", "expected"),
    [
        (X, X),
        (X, numpy.array([1.0, 2.0, 3.0])),
        (X, [1.0, 2.0, 3.0]),
        (torch.tensor(2.0), 2),
        (2.0, torch.tensor([2.0])),
        (numpy.array([[1]]), numpy.array([[1]])),
        (numpy.array([1.0, 2.5]), [1.0, 2.5]),
        (numpy.array(2), 2),
        (numpy.array([1.0, 2.5]), torch.tensor([1.0, 2.5]).bfloat16()),
        (2, torch.tensor(2)),
        ([1, "a", X], [1, "a", X]),
        (X, X + 5e-6),
        (X.half(), X + 2e-3),
    ],
    ids=str,
)
def test_answers_match_within_the_tolerance_of_their_dtype(actual, expected):
    with observing() as seen:
        assert_matches(actual, expected)
    assert all(one.wrong == 0 for one in seen.measurements)


def test_an_author_may_give_a_tolerance():
    assert_matches(X, X + 0.5, Tolerance(0.0, 0.5))
    with pytest.raises(WrongNumbers):
        assert_matches(X, X + 0.5, Tolerance(0.0, 0.49))


def test_the_first_wrong_part_is_told_by_its_place_and_all_before_it_are_measured():
    with observing() as seen, pytest.raises(WrongNumbers) as raised:
        assert_matches([X, X, X], [X, X + 1, X + 1], what="the list")
    assert raised.value.what == "[1] of the list"
    assert [one.wrong for one in seen.measurements] == [0, 3]
    assert wrong([1], [2], AssertionError).args == ("result[0] is 1: 2 was expected",)
    hidden = wrong([1], [2], AssertionError, shown=False)
    assert str(hidden) == "result[0] is 1: something else was expected"
    array = wrong(numpy.array([[1]]), "a", AssertionError)
    assert str(array) == "the result is a numpy array of shape [1, 1], where a str was expected"
    short = wrong(numpy.array([1, 2]), [1, 2, 3], AssertionError)
    assert str(short) == "the result has shape [2], where [3] was expected"
    assert str(wrong("a", 1, AssertionError)) == "the result is a str, where an int was expected"
    assert (
        str(wrong({1}, {"a": 1}, AssertionError))
        == "the result is a set, where a dict was expected"
    )
    keys = wrong({1: 2}, {1: 3}, AssertionError)
    assert str(keys) == "result[1] is 2: 3 was expected"


def test_a_wrong_shape_is_told_beside_the_right_one():
    said = "the result has shape [3], where [] was expected"
    assert str(wrong(X, 5.0, AssertionError)) == said


def test_numbers_that_lie_apart_are_pictured():
    """Unless there are none, or too many to look at."""
    (picture,) = wrong(X, X + 1).pictures("test")
    assert (picture.test, picture.what, picture.axes, picture.shape) == (
        "test", "the result", ("axis 0",), (3,),
    )  # fmt: skip
    for size, count in [(1, 1), (LARGEST_PICTURE, 1), (LARGEST_PICTURE + 1, 0), (0, 0)]:
        comparison = compare(torch.ones(size), torch.zeros(size), FLOAT32)
        assert len([*WrongNumbers("it", comparison, ("n",)).pictures("test")]) == count


def test_the_table_of_the_worst_numbers_hides_what_was_expected():
    """It depends on the test in which the failure arose, not on who reads it."""
    shown, hidden = wrong(X, X + 1), wrong(X, X + 1, shown=False)
    assert "expected" in str(shown)
    assert "expected" not in str(hidden)
    assert str(hidden).startswith(hidden.words)


# --- Conversions --------------------------------------------------------------------------------


# --- Calls --------------------------------------------------------------------------------------


def a_student(answer: Callable[[Call], Answer], result: Any = FLOATS) -> Student:
    """Returns a handle whose calls are answered so."""
    adapter = Adapter("run_double", {"x": Anything()}, result)
    return Student(adapter, answer, 1, lambda *_: None, Plainly())


def test_changed_inputs_are_named():
    def answer(call: Call) -> Answer:
        assert call.watch_inputs
        return Answer(2 * X, changed_inputs=changes)

    changes: tuple[str, ...] = ()
    assert_inputs_unchanged(a_student(answer), X)
    for given, changes in [(X, ("x",)), (numpy.ones(2), ("x",)), ({"a": [1]}, ("x",))]:
        with pytest.raises(AssertionError) as raised:
            assert_inputs_unchanged(a_student(answer), given)
        said = str(raised.value)
        assert said == f"run_double changes its input {changes[0]}"
    with pytest.raises(StudentFault, match="another type"):
        assert_inputs_unchanged(a_student(lambda _: Answer(5)), X)


def test_two_equal_calls_must_have_equal_results():
    answers = iter([X, X, X, X + 1, X, X.double(), 5, 5.0, [1, X], [1, X], [1, X], [2, X]])
    own = a_student(lambda _: Answer(next(answers)), Anything())
    assert_same_answer_twice(own, X)
    for _ in range(3):
        with pytest.raises(AssertionError, match="returns something else when it is called again"):
            assert_same_answer_twice(own, X)
    assert_same_answer_twice(own, X)
    with pytest.raises(AssertionError):
        assert_same_answer_twice(own, X)
    # NaN is not equal to itself, but it is the same answer.
    odd = a_student(lambda _: Answer(torch.tensor([math.nan, math.inf])), Anything())
    assert_same_answer_twice(odd, X)


def test_equal_results_may_differ_in_the_order_of_keys_and_the_sign_of_zero():
    """A dict that is built from a set of objects has its keys in any order."""
    zero = numpy.zeros(1)
    answers = iter([{1: 2, 3: X}, {3: X, 1: 2}, zero, -zero, torch.tensor(1.0), 1.0])
    own = a_student(lambda _: Answer(next(answers)), Anything())
    for _ in range(3):
        assert_same_answer_twice(own, X)


def test_a_result_keeps_the_dtype_of_the_inputs():
    assert_keeps_dtype(X, torch.float32)
    own = X.double()
    with observing() as seen:
        seen.returned += returned(own, torch.float32).returned
        with pytest.raises(WrongForm) as raised:
            assert_keeps_dtype(own, torch.float32)
    assert str(raised.value).splitlines() == [
        "with float32 inputs the result must be float32, not float64",
        "It is float64 from this line on, and nothing casts it back: a.py:7: return x",
    ]
    with pytest.raises(WrongForm, match="must be float16, not float32"):
        assert_keeps_dtype(X, torch.float16)


def test_gradients_are_compared_by_input():
    adapter = Adapter("run_double", {"x": FLOATS}, FLOATS)
    reference = Reference(adapter, {"run_double": lambda x: 2 * x}, fresh_case(1, "test"))
    right = {"x": torch.full((3,), 2.0)}
    own = a_student(lambda _: Answer(2 * X, gradients=right))
    assert_gradients_match(own, reference, torch.ones(3), ("x",), x=X)
    other = a_student(lambda _: Answer(2 * X, gradients={"x": X}))
    with pytest.raises(WrongNumbers) as raised:
        assert_gradients_match(other, reference, torch.ones(3), ("x",), x=X)
    assert raised.value.what == "the gradient of x"


@pytest.mark.parametrize(
    ("operations", "largest", "said"),
    [
        ((4, 6), (3, 12), None),
        (
            (4, 7),
            (3, 12),
            "makes 7 torch operations for a larger input, and 4 for a small one\nA Python loop",
        ),
        ((4, 4), (3, 13), "a tensor of 13 elements on the way, where 3 are enough"),
        ((4, 4), (99, 99), None),
        ((4, 4), (98, 99), "a tensor of 99 elements"),
    ],
)
def test_work_may_grow_by_half_and_tensors_by_four(operations, largest, said):
    """A table that is as large for the small input is allowed."""
    adapter = Adapter("run_double", {"x": FLOATS}, FLOATS)
    reference = Reference(adapter, {"run_double": lambda x: 2 * x}, fresh_case(1, "test"))
    works = iter(map(Work, operations, largest))
    own = a_student(lambda call: Answer(2 * call.arguments["x"], work=next(works)))
    small, large = {"x": torch.ones(2)}, {"x": torch.ones(3)}
    if said is None:
        assert_work_does_not_grow(own, reference, small, large)
    else:
        with pytest.raises(AssertionError, match=said):
            assert_work_does_not_grow(own, reference, small, large)


@pytest.mark.parametrize(("lines", "is_loop"), [((20, 30), False), ((20, 31), True)])
def test_lines_count_where_operations_are_not_counted(lines, is_loop):
    """In numpy or in lists, a loop makes no torch operation."""
    adapter = Adapter("run_double", {"x": FLOATS}, FLOATS)
    reference = Reference(adapter, {"run_double": lambda x: 2 * x}, fresh_case(1, "test"))
    counted = iter(lines)

    def answer(call: Call) -> Answer:
        work = Work(lines=next(counted)) if call.count_lines else Work(elsewhere=True)
        return Answer(2 * call.arguments["x"], work=work)

    small, large = {"x": torch.ones(2)}, {"x": torch.ones(3)}
    said = "executes 31 lines of Python for a larger input, and 20 for a small one\nIt computes"
    with pytest.raises(AssertionError, match=said) if is_loop else contextlib.nullcontext():
        assert_work_does_not_grow(a_student(answer), reference, small, large)


# --- Another device -----------------------------------------------------------------------------

META, CPU = Elsewhere("float32", (3,), "meta"), 2 * X
VALUES = Raised("RuntimeError", "item() cannot be called on meta tensors")
COPIED = Raised("NotImplementedError", "Cannot copy out of meta tensor; no data!")
REFUSED = Raised(
    "ValueError",
    "FlexAttention is only supported on CUDA, CPU, HPU, or MPS devices. "
    "Found input tensors on meta device.",
)
OTHER = Raised("RuntimeError", "expected all tensors on one device")
MISSING = Raised("NotImplementedError", "", missing=True)


@pytest.mark.parametrize(
    ("first", "on_the_cpu", "second", "said", "noted"),
    [
        (META, None, None, None, False),
        (VALUES, CPU, VALUES, None, False),
        (VALUES, CPU, OTHER, None, False),
        (COPIED, CPU, COPIED, None, False),
        (REFUSED, CPU, REFUSED, None, False),
        (COPIED, CPU, CPU, None, False),
        (COPIED, CPU, META, None, True),
        (VALUES, OTHER, None, "raised RuntimeError", False),
        (OTHER, CPU, META, None, True),
        (OTHER, CPU, VALUES, None, False),
        (OTHER, CPU, OTHER, "with inputs on torch's meta device, a stand-in for a GPU: ", False),
        (OTHER, OTHER, None, "^run_double raised RuntimeError", False),
        (CPU, CPU, META, None, True),
        (CPU, CPU, CPU, "returns its result on the cpu; it must lie on the device of", False),
        (MISSING, MISSING, None, "is not implemented yet", False),
        (MISSING, CPU, MISSING, "^run_double is not implemented yet", False),
    ],
)
def test_code_that_forgets_the_device_gets_a_note(first, on_the_cpu, second, said, noted):
    """It fails only if the result ends up elsewhere, or no default device helps."""
    answers = {("meta", False): first, ("cpu", False): on_the_cpu, ("meta", True): second}

    def answer(call: Call) -> Answer:
        found = answers[call.device, call.default_device]
        assert found is not None
        return Answer(raised=found) if isinstance(found, Raised) else Answer(found)

    with observing() as seen:
        if said is None:
            assert_runs_on_another_device(a_student(answer), X)
        else:
            with pytest.raises((AssertionError, StudentFault), match=said):
                assert_runs_on_another_device(a_student(answer), X)
    told = "This may fail on a GPU: pass the device of an input when you create tensors."
    assert seen.notes == ([told] if noted else [])


def test_a_result_that_is_no_tensor_lies_nowhere():
    own = a_student(lambda _: Answer(5), kind_of(int))
    with pytest.raises(StudentFault, match="run_double must return a tensor") as raised:
        assert_runs_on_another_device(own, X)
    assert raised.value.status is Status.FAILED


def test_a_wrong_form_has_the_place_of_its_line():
    assert WrongForm("said", None).where is None
    assert WrongForm("said", LINE).where == Where("a.py", 7)
