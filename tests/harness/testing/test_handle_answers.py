"""Answers to handles: what is checked, observed and remembered; gradients, work, references."""

from __future__ import annotations

import pytest
import torch

from grader.core.verdict import Status
from grader.core.wire.calls import Answer, Call, Raised, Work
from grader.core.wire.records import Line
from grader.core.wire.scripts import Doing, Step
from grader.core.wire.values import Elsewhere
from grader.testing.cases import Case, CaseExhausted, fresh_case, seed_of
from grader.testing.handles import handle as handles
from grader.testing.handles.handle import (
    BrokenReference,
    call_in_float64,
    in_float64,
)
from grader.testing.outcome import Plainly, StudentFault, observing
from tests.harness.handle_fixtures import Asked, reference, student

pytestmark = pytest.mark.unit

# --- Students' answers --------------------------------------------------------------------------

X = torch.ones(3)


def test_a_call_carries_the_seed_the_device_and_its_exercise():
    """Another adapter's call belongs to the exercise of the test."""
    asked, seen = Asked(), []
    own = student("run_double", asked, seen)
    assert own(X).tolist() == [2.0] * 3
    own.other("run_many")(X)
    first, second = asked.calls
    assert (first.seed, first.device, first.exercise) == (7, "cpu", "")
    assert (second.adapter, second.exercise) == ("run_many", "run_double")
    ((call, result, refused),) = seen
    assert (call.adapter, result.tolist(), refused) == ("run_double", [2.0] * 3, False)
    asked.fixed = Answer(2 * X)
    student("run_double", asked, seen, device="cuda").seeded(5)(X)
    assert (asked.calls[-1].seed, asked.calls[-1].device) == (seed_of(7, "5"), "cuda")
    assert len(seen) == 2


def test_a_refused_answer_is_observed_and_not_returned():
    asked, seen = Asked(run_double=lambda **_: 5), []
    with pytest.raises(StudentFault):
        student("run_double", asked, seen)(X)
    assert [(value, refused) for _, value, refused in seen] == [(5, True)]
    asked, seen = Asked(run_many=lambda **_: 5), []
    with pytest.raises(StudentFault):
        student("run_double", asked, seen).other("run_many")(X)
    assert seen == []


@pytest.mark.parametrize(("device", "place"), [("cpu", "the CPU"), ("meta", "the device meta")])
def test_an_answer_on_another_device_is_refused(device, place):
    asked = Asked()
    asked.fixed = Answer(Elsewhere("float32", (3,), "cuda:0"))
    with pytest.raises(StudentFault, match=f"must return a tensor on {place}, where its inputs"):
        student("run_double", asked, device=device)(X)


def test_an_exception_ends_the_test_unless_it_ends_an_iterator():
    """`StopIteration` anywhere else is an exception like others."""
    asked = Asked()
    asked.fixed = Answer(raised=Raised("StopIteration", ""))
    with pytest.raises(StudentFault, match="run_double raised StopIteration"):
        student("run_double", asked)(X)
    own = student("get_numbers", asked := Asked())(3)
    next(own)
    asked.fixed = Answer(raised=Raised("ValueError", ""))
    with pytest.raises(StudentFault, match="raised ValueError"):
        next(own)
    asked.fixed = Answer(raised=Raised("AttributeError", ""))
    box = student("get_box", asked2 := Asked())()
    asked2.fixed = asked.fixed
    with pytest.raises(StudentFault, match=r"get_box raised AttributeError|put raised AttributeE"):
        box.put(1)


def test_returned_tensors_are_remembered_with_their_axes_and_dtypes():
    """Parts of a collection are known by the inputs' dtype alone."""
    with observing() as seen:
        student("run_double")(X.half())
        student("run_many")(X.double())
    double, *parts = seen.returned
    assert (double.axes, double.input_dtype) == (("n",), torch.float16)
    assert [(one.axes, one.input_dtype) for one in parts] == [(("axis 0",), torch.float64)] * 2
    assert parts[0].trace() is None
    with observing() as seen:
        student("run_pick")(X.half(), torch.tensor([2, 1]), 1)
    assert [one.input_dtype for one in seen.returned] == [torch.float16]
    with observing() as seen:
        student("get_parameter")().value  # noqa: B018
    (own,) = [one for one in seen.returned if one.tensor is not None][-1:]
    assert own.input_dtype == torch.float32


LINE = Line("a.py", 3, "return x")


class Tracing(Plainly):
    """Words that name lines."""

    names_lines = True


def test_the_line_behind_a_result_is_found_by_the_same_call():
    """Without an answer, no line is told."""
    asked = Asked()
    own = student("run_double", asked)
    own._wording = Tracing()
    with observing() as seen:
        own(X)
    asked.fixed = Answer(origin=LINE)
    assert seen.returned[0].trace() == LINE
    assert asked.calls[-1].trace
    assert asked.calls[-1].arguments == asked.calls[0].arguments

    def fail(_: Call) -> Answer:
        raise StudentFault(Status.TIMEOUT, "late")

    own._ask = fail
    assert seen.returned[0].trace() is None


# --- Gradients and work -------------------------------------------------------------------------


def test_gradients_come_by_input():
    """Both sides give the same; a result without a history has none."""
    cotangent = torch.tensor([1.0, 0.0, 2.0])
    for own, dtype in (
        (student("run_double"), torch.float32),
        (reference("run_double"), torch.float64),
    ):
        found = own.gradients(cotangent, wrt=("x",), x=X)
        assert (found["x"].tolist(), found["x"].dtype) == ([2.0, 0.0, 4.0], dtype)
    detached = student("run_double", Asked(run_double=lambda x: 2 * x.detach()))
    with pytest.raises(StudentFault, match="no gradient reaches x: the result must depend on it"):
        detached.gradients(cotangent, wrt=("x",), x=X)
    asked = Asked()
    asked.fixed = Answer(2 * X, gradients={"x": torch.ones(2)})
    with pytest.raises(StudentFault, match="the gradient of x has another shape"):
        student("run_double", asked).gradients(cotangent, wrt=("x",), x=X)


def test_gradients_of_one_tensor_among_several_come_from_both_sides():
    """A dict has none as a whole, and a part that was computed without them has none either."""

    def function(x: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"first": 3 * x, "second": 2 * x.detach()}

    own = student("run_many", Asked(run_many=function))
    for handle in (own, reference("run_many", run_many=function)):
        found = handle.gradients(X, wrt=("x",), part="first", x=X)
        assert found["x"].tolist() == [3.0] * 3
    with pytest.raises(StudentFault, match="no gradient reaches x"):
        own.gradients(X, wrt=("x",), part="second", x=X)


def test_a_reference_without_gradients_is_broken():
    cotangent = torch.ones(3)
    for function, said in [
        (lambda **_: torch.ones(3, requires_grad=True) * 2, "does not depend on x"),
        (lambda **_: 5, "has no tensor to differentiate: .* part=0"),
        (lambda **_: 1 / 0, "raised ZeroDivisionError"),
    ]:
        with pytest.raises(BrokenReference, match=said):
            reference("run_double", run_double=function).gradients(cotangent, wrt=("x",), x=X)


def test_work_is_counted_on_both_sides():
    """A worker that counts nothing does not pass for one that does nothing."""
    counted = student("run_double").count_work(x=X), reference("run_double").count_work(x=X)
    assert counted[0] == Work(1, 3)
    assert counted[1].largest == 3
    asked = Asked()
    asked.fixed = Answer(2 * X)
    with pytest.raises(StudentFault, match="torch operations of run_double were not counted"):
        student("run_double", asked).count_work(x=X)
    asked.fixed = Answer(5, work=Work(1, 1))
    with pytest.raises(StudentFault, match="another type or shape"):
        student("run_double", asked).count_work(x=X)


def test_lines_are_counted_unless_too_many_or_none(monkeypatch):
    """A submission may stop the counting."""
    asked = Asked()
    asked.fixed = Answer(2 * X, work=Work(lines=9))
    own = student("run_double", asked)
    assert own.count_lines(X) == 9
    call = asked.calls[-1]
    assert (call.count_lines, call.adapter, call.seed) == (True, "run_double", 7)
    monkeypatch.setattr(handles, "MOST_LINES", 10)
    assert own.count_lines(x=X) == 9
    for work in (Work(lines=10), None):
        asked.fixed = Answer(2 * X, work=work)
        with pytest.raises(StudentFault, match="executes 10 lines of Python or more, or stops"):
            own.count_lines(X)
    asked.fixed = Answer(raised=Raised("ValueError", ""))
    with pytest.raises(StudentFault, match="run_double raised ValueError"):
        own.count_lines(X)
    asked.fixed = Answer(5, work=Work(lines=9))
    with pytest.raises(StudentFault, match="another type or shape"):
        own.count_lines(X)


# --- References ---------------------------------------------------------------------------------


def test_references_compute_in_float64_and_once():
    calls: list[torch.dtype] = []

    def double(x):
        calls.append(x.dtype)
        return 2 * x

    case = fresh_case(1, "test")
    for _ in range(2):
        own = reference("run_double", case.rewind(), run_double=double)
        assert own(X.half()).dtype is torch.float64
    assert calls == [torch.float64]


def test_a_reference_that_is_missing_or_raises_is_broken():
    for function, said in [
        (None, "solutions/ has no run_double"),
        (lambda **_: 1 / 0, "the reference of run_double raised ZeroDivisionError"),
    ]:
        own = reference("run_double", run_double=function)
        with pytest.raises(BrokenReference, match=said):
            own(X)
    frozen = reference("run_double", Case(None))
    with pytest.raises(CaseExhausted):
        frozen(X)


def test_only_floating_point_values_become_float64():
    """At any depth."""
    given = {"a": [X.half(), 1], "b": (torch.ones(1, dtype=torch.int32), "x")}
    found = in_float64(given)
    assert found["a"][0].dtype is torch.float64
    assert found["b"][0].dtype is torch.int32
    assert (found["a"][1], found["b"][1]) == (1, "x")
    assert in_float64(2.5) == 2.5
    step = Step(0, Doing.CALL, "put", (X.half(),), {"y": X})
    call = call_in_float64(Call("run_it", {"x": X}, before=(step,), then=(step,)))
    assert call.arguments["x"].dtype is torch.float64
    for one in (*call.before, *call.then):
        assert one.positional[0].dtype is one.keywords["y"].dtype is torch.float64
