"""Assertions of tests: when each fails, and what its message holds."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch

from grader.core.evidence import LARGEST_PICTURE
from grader.core.verdict import Status, Where
from grader.core.wire.calls import Answer, Call, Raised, Traced, Work
from grader.core.wire.records import Line
from grader.core.wire.values import Elsewhere
from grader.testing.assertions import (
    WrongForm,
    WrongNumbers,
    WrongParts,
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
from grader.testing.differences import (
    Conversion,
    dropout_in_words,
    headline,
    is_near,
    nearness_in_words,
    precision_in_words,
    wrong_places,
)
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


def returned(tensor: torch.Tensor, asked_in: torch.dtype, untouched: str = "") -> Observations:
    """Returns observations in which the submission returned a tensor, made by `LINE`."""
    known = Returned(tensor, ("seq", "d"), asked_in, lambda _: LINE, untouched)
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
    assert raised.value.what == "the list[1]"
    assert [one.wrong for one in seen.measurements] == [0, 3]
    assert wrong([1], [2], WrongParts).args == ("the result[0] is 1: 2 was expected",)
    hidden = wrong([1], [2], WrongParts, shown=False)
    assert str(hidden) == "the result[0] is 1: something else was expected"
    assert hidden.in_full.splitlines() == [str(hidden), "    got       [1]"]
    assert str(wrong("a", 1, WrongParts)) == "the result is a str, where an int was expected"
    assert str(wrong({1}, {"a": 1}, WrongParts)) == "the result is a set, where a dict was expected"
    keys = wrong({1: 2}, {1: 3}, WrongParts)
    assert str(keys) == "the result[1] is 2: 3 was expected"


def test_a_wrong_shape_is_explained_by_the_axes_and_told_with_its_line():
    own = torch.ones(3, 2)
    said = wrong(own, torch.ones(2, 3), WrongForm)
    assert str(said).splitlines() == [
        "the result has shape [3, 2], where [2, 3] was expected",
        "Axis 0 and axis 1 are swapped.",
    ]
    assert said.where is None
    with observing() as seen:
        seen.returned += returned(own, torch.float32).returned
        with pytest.raises(WrongForm) as raised:
            assert_matches(own, torch.ones(2))
    assert str(raised.value).splitlines()[1:] == [
        "The axis seq, 3 long here, is missing: was it summed up, or one of it picked?"
    ] or "It becomes so in a.py:7: return x" in str(raised.value)
    assert raised.value.where == Where("a.py", 7)
    assert str(wrong(X, 5.0, WrongForm)).splitlines()[0] == (
        "the result has shape [3], where [] was expected"
    )


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


@pytest.mark.parametrize(
    ("off", "is_first", "where"), [(5e-4, True, Where("a.py", 7)), (1.0, False, None)]
)
def test_a_result_in_a_coarser_dtype_is_told_with_its_line(off, is_first, where):
    """First if it explains every wrong number; then its line is the one to fix."""
    own = (X + off).half()
    with observing() as seen:
        seen.returned += returned(own, torch.float32).returned
        with pytest.raises(WrongNumbers) as raised:
            assert_matches(own, X, FLOAT32)
    lines = raised.value.words.splitlines()
    told = (
        "the result is float16, and the inputs are float32: it must stay float32. float16 holds 3 "
        "digits of a number."
    )
    assert (lines.index(told) == 0) is is_first
    assert "It becomes float16 in a.py:7: return x" in lines
    assert raised.value.where == where
    assert (Conversion.of(own, X) is None) is True, "outside of its test nothing is known of it"


def test_only_a_result_of_another_floating_dtype_is_converted():
    for tensor, asked_in, is_converted in [
        (X, torch.float32, False),
        (X, torch.float64, True),
        (X.int(), torch.float32, False),
    ]:
        with observing() as seen:
            seen.returned += returned(tensor, asked_in).returned
            assert (Conversion.of(tensor, X) is not None) is is_converted
    words = Conversion(torch.float64, torch.float32, None, True, by_inputs=False).in_words("it")
    assert [*words] == ["it is float64, and must be float32."]


def test_a_value_that_nobody_wrote_to_is_told_without_numbers():
    with observing() as seen:
        seen.returned += returned(X, torch.float32, "parameter").returned
        with pytest.raises(WrongNumbers) as raised:
            assert_matches(X, X + 1)
    assert str(raised.value).startswith("the parameter is as it was before the step")
    assert len(str(raised.value).splitlines()) == 1


# --- Headlines ----------------------------------------------------------------------------------

A = torch.arange(1.0, 13.0).view(3, 4)
AXES = ("seq", "d")


def changed(*index: Any, by: float = 1.0) -> torch.Tensor:
    """Returns `A` with other values at these places."""
    own = A.clone()
    own[index] += by
    return own


@pytest.mark.parametrize(
    ("got", "said"),
    [
        (A * 0, "every value is 0"),
        (A * 0 + 99, "every value is the same"),
        (-A, "every value has the wrong sign"),
        (A * 3, "every value is too large by the same factor"),
        (A / 3, "every value is too small by the same factor"),
        (A + 7, "every value is off by the same amount"),
        (A.flip(0), "the values are right but in the wrong places"),
        (changed(slice(1, None)), "wrong from index 1 of seq on"),
        (changed(slice(2, None)), "wrong at the end of seq"),
        (changed(0), "wrong at index 0 of seq"),
        (changed(slice(0, 2)), "wrong at the start of seq"),
        (changed(1), "some values are wrong"),
        (changed(slice(None), slice(2, None)), "wrong at the end of d"),
        (changed(slice(None), 1), "some values are wrong"),
        (changed(1, 1), "one value is wrong"),
        (changed(1, 1, by=math.nan), "one value is NaN"),
        (changed(1, by=math.inf), "some values are infinite"),
        (A * math.nan, "every value is NaN"),
        (torch.stack([A[0], A[1] * math.nan, A[2] * math.inf]), "some values are NaN or infinite"),
        (A**2 + 1, "every value is wrong"),
    ],
    ids=range(20),
)
def test_a_headline_names_the_fault_without_numbers(got, said):
    assert headline("the result", compare(got, A, FLOAT32), AXES) == said
    named = headline("encode", compare(got, A, FLOAT32), AXES)
    assert named.split() != said.split()
    assert "of encode" in named


def test_headlines_of_single_numbers_and_truth_values():
    one, other = torch.tensor(1.0), torch.tensor(2.0)
    assert headline("it", compare(one, other, FLOAT32), ()) == "it is wrong"
    mask = torch.tensor([True, False, True, False])
    for got, said in [
        (~mask, "every value is the opposite of what it must be"),
        (mask | True, "some values are True where False is expected"),
        (mask & False, "some values are False where True is expected"),
        (
            torch.tensor([False, True, True, False]),
            "some values are True where False is expected and False where True is expected",
        ),
    ]:
        assert headline("the result", compare(got, mask, FLOAT32), ("n",)) == said


def test_patterns_need_values_that_lie_apart():
    """Three values, or equal ones, fit a pattern by chance."""
    for want in (A.flatten()[:3], torch.ones(4), torch.tensor([1.0, 2.0, math.inf, 3.0])):
        assert headline("the result", compare(want * 0 - 5, want, FLOAT32), ("n",)) in (
            "every value is wrong",
            "every value is wrong",
        )
    four = A.flatten()[:4]
    assert headline("the result", compare(four * 0, four, FLOAT32), ("n",)) == "every value is 0"


def test_the_wrong_places_of_an_axis_are_those_with_any_wrong_number():
    """An axis without a right place is left out."""
    mask = torch.tensor([[False, True, True], [False, False, True]])
    assert [*wrong_places(mask, ("a", "b"))] == [("b", [1, 2], 3)]
    assert [*wrong_places(torch.tensor([True, False]), ("a",))] == [("a", [0], 2)]


# --- Hints --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("factor", "said"),
    [
        (1.004, "All are nearly right: off by 0.4% of the largest value at most."),
        (1.006, None),
        (1.0000001, None),
    ],
)
def test_an_almost_right_answer_is_called_so(factor, said):
    comparison = compare(A * factor, A, FLOAT32)
    told = [*nearness_in_words(comparison)]
    if said is None:
        assert told == [] or factor < 1.001
    else:
        assert told[0].startswith(said)
    single = compare(torch.tensor([1.001]), torch.tensor([1.0]), FLOAT32)
    assert first(nearness_in_words(single)).startswith("It is nearly right: off by 0.1%. Look")
    assert [*nearness_in_words(compare(A > 1, A > 2, FLOAT32))] == []


def test_an_answer_is_near_if_each_error_is_small_beside_the_largest_value():
    assert is_near(A + 0.0599, A)
    assert not is_near(A + 0.0601, A)
    assert not is_near(A[0], A)
    assert not is_near(torch.zeros(0), torch.zeros(0))


def test_half_precision_is_told_unless_the_result_was_converted():
    off = compare(A + 1, A, FLOAT32)
    digits = "float16 holds 3 digits: if the same is right in float32"
    assert first(precision_in_words(off, torch.float16, False)).startswith(digits)
    assert first(precision_in_words(off, torch.bfloat16, False)).startswith("bfloat16 holds 2")
    assert [*precision_in_words(off, torch.float16, True)] == []
    assert [*precision_in_words(off, torch.float32, False)] == []
    for got in (A * 0, A * math.inf, A * math.nan):
        overflow = compare(got, A, FLOAT32)
        assert first(precision_in_words(overflow, torch.float16, True)).startswith(
            "float16 holds no"
        )
        assert [*precision_in_words(overflow, torch.float32, False)] == []


@pytest.mark.parametrize(
    ("dropped", "factor", "is_told"),
    [(3, 2.0, True), (2, 2.0, False), (9, 2.0, True), (10, 2.0, False), (3, 1.0, False),
     (3, 0.5, False)],
)  # fmt: skip
def test_dropout_shows_by_zeros_and_one_factor(dropped, factor, is_told):
    """Three of each are needed."""
    got = A.flatten() * factor
    got[:dropped] = 0
    told = [*dropout_in_words(compare(got, A.flatten(), FLOAT32))]
    assert bool(told) is is_told
    if is_told:
        assert told[0].startswith(f"{dropped} of them are 0, and all others are too large")
    uneven = got.clone()
    uneven[-1] *= 1.5
    assert [*dropout_in_words(compare(uneven, A.flatten(), FLOAT32))] == []


# --- Calls --------------------------------------------------------------------------------------


def a_student(answer: Callable[[Call], Answer], result: Any = FLOATS) -> Student:
    """Returns a handle whose calls are answered so."""
    adapter = Adapter("run_double", {"x": Anything()}, result)
    return Student(adapter, answer, 1, lambda *_: None, Plainly())


def test_changed_inputs_are_named():
    """A dict or list needs other advice than a tensor."""

    def answer(call: Call) -> Answer:
        assert call.watch_inputs
        return Answer(2 * X, changed_inputs=changes)

    changes: tuple[str, ...] = ()
    assert_inputs_unchanged(a_student(answer), X)
    for given, changes, more in [(X, ("x",), False), ({"a": X}, ("x",), True), (X, ("y",), True)]:
        with pytest.raises(AssertionError) as raised:
            assert_inputs_unchanged(a_student(answer), given)
        said = str(raised.value)
        assert said.startswith(f"run_double changes its input {changes[0]}\nThese change the call")
        assert ("the caller's dict or list" in said) is more
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


def test_a_result_keeps_the_dtype_of_the_inputs():
    assert_keeps_dtype(X, torch.float32)
    own = X.double()
    with observing() as seen:
        seen.returned += returned(own, torch.float32).returned
        with pytest.raises(WrongForm) as raised:
            assert_keeps_dtype(own, torch.float32)
    assert str(raised.value).splitlines() == [
        "with float32 inputs the result must be float32, not float64",
        "It becomes so in a.py:7: return x",
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
        ((4, 7), (3, 12), "more torch operations for a larger input: 7, and 4 for a small one"),
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


# --- Another device -----------------------------------------------------------------------------

META, CPU = Elsewhere("float32", (3,), "meta"), 2 * X
VALUES = Raised("RuntimeError", "item() cannot be called on meta tensors")
OTHER = Raised("RuntimeError", "expected all tensors on one device")
MISSING = Raised("NotImplementedError", "", missing=True)


@pytest.mark.parametrize(
    ("first", "on_the_cpu", "second", "said", "noted"),
    [
        (META, None, None, None, False),
        (VALUES, CPU, None, None, False),
        (VALUES, OTHER, None, "raised RuntimeError", False),
        (OTHER, CPU, META, None, True),
        (OTHER, CPU, VALUES, None, False),
        (OTHER, CPU, OTHER, "with inputs on torch's meta device, a stand-in for a GPU: ", False),
        (OTHER, OTHER, None, "^run_double raised RuntimeError", False),
        (CPU, CPU, META, None, False),
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
    told = "This may fail on a GPU: pass device=x.device when you create tensors."
    assert seen.notes == ([told] if noted else [])


def test_a_result_that_is_no_tensor_lies_nowhere():
    own = a_student(lambda _: Answer(5), kind_of(int))
    with pytest.raises(StudentFault, match="run_double must return a tensor") as raised:
        assert_runs_on_another_device(own, X)
    assert raised.value.status is Status.FAILED


def test_a_line_is_traced_for_a_wrong_form_only():
    assert WrongForm("said", None).where is None
    assert str(WrongForm("said", LINE)) == "said\nIt becomes so in a.py:7: return x"
    assert Traced.SHAPE != Traced.DTYPE
