"""Observations of a running test, words for faults, and the bench that gives out handles."""

from __future__ import annotations

import contextvars
from types import SimpleNamespace
from typing import Any, cast

import numpy
import pytest
import torch

from grader.core.verdict import Aspect, Measurement, Status, Where
from grader.core.wire.calls import Answer, Call, Frame, Raised, Use
from grader.core.wire.records import Line
from grader.core.wire.values import Elsewhere, Foreign
from grader.testing import assert_matches, outcome
from grader.testing.cases import fresh_case, seed_of
from grader.testing.contract import Adapter, kind_of
from grader.testing.exercise import Membership
from grader.testing.handles import bench as benches
from grader.testing.handles.bench import Bench
from grader.testing.handles.handle import BrokenReference
from grader.testing.kinds import (
    Anything,
    DictType,
    ObjectType,
    PlainType,
    Signature,
    TensorType,
)
from grader.testing.outcome import (
    Observation,
    Plainly,
    Returned,
    StudentFault,
    axes_of,
    examining,
    known_of,
    note,
    observed,
    observing,
    place_in_words,
    precision_of,
    shows_expected,
    uses_in_words,
    where_of,
)

pytestmark = pytest.mark.unit

FLOATS = TensorType("floating-point", ("...", "n"))
LINE = Line("attention.py", 12, "return\x1b[2J weights")


# --- Observing ----------------------------------------------------------------------------------


def test_each_test_has_observations_of_its_own():
    """Outside of tests nobody reads them."""
    contextvars.Context().run(_observe)


def _observe() -> None:
    note("lost")
    assert observed().notes == []
    with observing() as outer:
        note("outer")
        with observing(shows_expected=False) as inner:
            note("inner")
            assert not shows_expected()
            assert observed() is inner
        note("again")
        assert shows_expected()
    assert (outer.notes, inner.notes) == (["outer", "again"], ["inner"])
    assert observed() is not outer
    with pytest.raises(LookupError), observing():
        raise LookupError
    assert observed().notes == []


def test_the_worst_measurement_is_the_farthest_from_its_tolerance():
    near, far = (Measurement(1.0, 1.0, 0.1, 0.1, ratio) for ratio in (0.5, 3.0))
    with observing() as seen:
        assert seen.worst is None
        seen.measurements += [near, far, near]
        assert seen.worst == far


def test_the_time_for_looking_at_answers_is_counted(monkeypatch):
    """A submission pays for it, also if its answer raises."""
    ticks = iter([10.0, 12.5, 20.0, 21.0])
    monkeypatch.setattr(outcome, "time", SimpleNamespace(thread_time=ticks.__next__))
    with observing() as seen:
        with pytest.raises(LookupError), examining():
            raise LookupError
        with examining():
            pass
    assert seen.seconds == 3.5


def returned(tensor: torch.Tensor, input_dtype: torch.dtype = torch.float32) -> Returned:
    return Returned(tensor, ("seq", "d"), input_dtype, lambda: None)


def test_a_tensor_of_the_submission_is_known_by_identity():
    """Its axes have the annotation's names; those of others are numbered."""
    own, other = torch.ones(2, 3), torch.ones(2, 3)
    with observing() as seen:
        seen.returned.append(returned(own))
        assert known_of(own) is seen.returned[0]
        assert (known_of(other), axes_of(own), axes_of(other)) == (
            None,
            ("seq", "d"),
            ("axis 0", "axis 1"),
        )


def test_the_latest_answer_is_found_without_a_look_at_earlier_ones():
    """A test may take thousands of items, and ask about each when it comes."""
    own = torch.ones(2, 3)
    with observing() as seen:
        seen.returned += [cast(Returned, "an earlier answer"), returned(own)]
        assert known_of(own) is seen.returned[1]


@pytest.mark.parametrize(
    ("dtype", "input_dtype", "expected"),
    [
        (torch.float32, torch.float16, torch.float32),
        (torch.float16, torch.float32, torch.float32),
        (torch.float64, torch.float32, torch.float64),
        (torch.float32, torch.float64, torch.float64),
        (torch.float16, torch.bfloat16, torch.float16),
        (torch.int64, torch.float16, torch.int64),
    ],
    ids=str,
)
def test_an_answer_is_held_to_the_finer_of_its_dtype_and_its_inputs(dtype, input_dtype, expected):
    own = torch.ones(2, dtype=dtype)
    with observing() as seen:
        assert precision_of(own) is dtype
        seen.returned.append(returned(own, input_dtype))
        assert precision_of(own) is expected


def test_a_part_of_an_answer_is_held_to_the_dtype_of_the_inputs_too():
    """A coarse answer to float32 would earn the tolerance of bfloat16, where zeros may be right."""
    own = torch.zeros(2, 3, dtype=torch.bfloat16)
    expected = torch.full((2,), 0.03)
    with observing() as seen:
        seen.returned.append(returned(own, torch.float32))
        assert precision_of(own[:, 0]) is torch.float32
        with pytest.raises(AssertionError):
            assert_matches(own[:, 0], expected)
        assert precision_of(own[:, 0].double()) is torch.float64
        seen.returned.append(returned(own.clone(), torch.bfloat16))
        assert precision_of(own[:, 0]) is torch.bfloat16


def test_a_line_of_the_submission_is_told_without_control_characters():
    assert place_in_words(LINE) == "attention.py:12: return weights"
    assert where_of(LINE) == Where("attention.py", 12)
    assert where_of(None) is None


def test_a_fault_can_be_raised_again():
    """An exception object collects tracebacks, so that each time another one is raised."""
    fault = StudentFault(Status.ERROR, "one\ntwo", Where("a.py", 1), settled=True)
    again = fault.again()
    assert again is not fault
    assert (again.status, again.message, again.where, again.settled) == (
        Status.ERROR,
        "one\ntwo",
        Where("a.py", 1),
        True,
    )
    assert (fault.headline, str(fault)) == ("one", "one\ntwo")
    assert not StudentFault(Status.ERROR, "x").settled


class Near:
    """A prediction that counts how often it is compared."""

    tells = True

    def __init__(self, most: float) -> None:
        self.most, self.asked = most, 0

    def agrees(self, _: Observation, leniency: float) -> bool:
        self.asked += 1
        return leniency >= self.most

    def is_like(self, *_: object) -> bool:
        return False


def test_an_observation_remembers_its_comparisons():
    """By prediction and leniency."""
    own = Observation("test", 0, Aspect.VALUES, Call("run_x", {}), torch.ones(1))
    near = Near(2.0)
    assert [own.is_as(near, leniency) for leniency in (1.0, 2.0, 1.0, 2.0)] == [
        False, True, False, True,
    ]  # fmt: skip
    assert near.asked == 2
    assert not own.is_as(Near(3.0), 2.0)


# --- Words --------------------------------------------------------------------------------------


def test_uses_are_listed_by_name_file_and_line():
    """Long lists are cut: five names, four places each."""
    uses = [Use("torch.b", "m.py", 9), Use("torch.b", "m.py", 3), Use("torch.b", "m.py", 3)]
    assert uses_in_words(uses) == "torch.b (m.py:3, m.py:9)"
    uses += [Use("torch.a", "z.py", 1), Use("torch.a", "a.py", 2)]
    assert uses_in_words(uses) == "torch.a (a.py:2, z.py:1) and torch.b (m.py:3, m.py:9)"
    cells = [Use("torch.a", "a.ipynb/cell 2", 3), Use("torch.b", "b.ipynb", 4)]
    assert uses_in_words(cells) == "torch.a (a.ipynb/cell 2:3) and torch.b (b.ipynb)"
    lines = [Use("f", "m.py", number) for number in range(1, 6)]
    assert uses_in_words(lines[:4]) == "f (m.py:1, m.py:2, m.py:3, m.py:4)"
    assert uses_in_words(lines) == "f (m.py:1, m.py:2, m.py:3, m.py:4, …)"
    files = [Use("f", f"{name}.py", 1) for name in "abcde"]
    assert uses_in_words(files) == "f (a.py:1, b.py:1, c.py:1, d.py:1, …)"
    names = [Use(name, "m.py", 1) for name in "abcdefg"]
    shown = ", ".join(f"{name} (m.py:1)" for name in "abcde")
    assert uses_in_words(names) == f"{shown} and 2 more"
    assert uses_in_words(names[:3]) == "a (m.py:1), b (m.py:1) and c (m.py:1)"
    assert uses_in_words(names[:5]).endswith("d (m.py:1) and e (m.py:1)")


FRAMES = (Frame("a.py", 1, "f", "x"), Frame("b\x1b[2J.py", 7, "g", "y"))
CALL = Call("run_x", {})


@pytest.mark.parametrize(
    ("raised", "call", "status", "message"),
    [
        (Raised("ValueError", "the input 3.5"), CALL, Status.ERROR, "run_x raised ValueError"),
        (Raised("Leak_3_5", "3.5"), CALL, Status.ERROR, "run_x raised an exception"),
        (Raised("print", "3.5"), CALL, Status.ERROR, "run_x raised an exception"),
        (Raised("NotImplementedError", "", missing=True), CALL, Status.MISSING,
         "run_x is not implemented yet"),
        (Raised("NameError", "", missing=True, not_run="Not run: %cd."), CALL, Status.MISSING,
         "run_x is not implemented yet\nNot run: %cd."),
        (Raised("SyntaxError", "no\n  way", FRAMES), None, Status.ERROR,
         "SyntaxError: no way (b.py:7)"),
        (Raised("KeyError", ""), None, Status.ERROR, "KeyError"),
        (Raised("KeyError", "x" * 400), None, Status.ERROR, f"KeyError: {'x' * 300}"),
        (Raised("NameError", "x", not_run="Not run: %cd."), None, Status.ERROR,
         "NameError: x\nNot run: %cd."),
    ],
)  # fmt: skip
def test_a_verdict_repeats_nothing_that_a_call_said(raised, call, status, message):
    """It may hold the graded inputs, which an import does not know."""
    fault = Plainly().raised(raised, "run_x", call)
    assert (fault.status, fault.message) == (status, message)


def test_a_plain_verdict_names_neither_values_nor_lines():
    own = Plainly()
    adapter = Adapter("run_x", {}, PlainType(int))
    fault = own.refused(adapter, 3.5, CALL, lambda _: LINE)
    assert (fault.status, fault.message) == (
        Status.FAILED,
        "run_x returned something of another type or shape than it must",
    )
    assert not own.names_lines
    assert own.printed("3.5") == ()


# --- The bench ----------------------------------------------------------------------------------

DOUBLE = Adapter("run_double", {"x": FLOATS}, FLOATS)
MEMBER = Membership("run_double", Aspect.VALUES, 1.0)


def a_bench(answer: Any = None, **fields: Any) -> Bench:
    """Returns a bench at which each call is answered with this, or with twice the input."""
    calls: list[Call] = []

    def ask(call: Call) -> Answer:
        calls.append(call)
        return Answer(2 * call.arguments["x"] if answer is None else answer)

    own = {
        "contract": {"run_double": DOUBLE},
        "ask": ask,
        "references": {"run_double": lambda x: 2 * x},
        "case_of": lambda test: fresh_case(1, test),
        "seed": 7,
        "wording": Plainly(),
    }
    return Bench(**own | fields)


def test_handles_come_from_the_bench():
    """All calls have one seed, which reveals nothing about the test."""
    calls: list[Call] = []

    def ask(call: Call) -> Answer:
        calls.append(call)
        return Answer(2 * call.arguments["x"])

    own = a_bench(ask=ask, device="meta")
    for test in ("one", "other"):
        assert own.student(MEMBER, test)(torch.ones(2)).tolist() == [2.0, 2.0]
    assert {(call.seed, call.device) for call in calls} == {(seed_of(7, "call"), "meta")}
    reference = own.reference("run_double", fresh_case(1, "test"))
    assert reference(torch.ones(2)).dtype is torch.float64
    missing = a_bench(references={}).reference("run_double", fresh_case(1, "test"))
    with pytest.raises(BrokenReference, match="solutions/ has no run_double"):
        missing(torch.ones(2))


def test_a_missing_adapter_is_missing_and_a_broken_import_is_told():
    with pytest.raises(StudentFault, match="has no function run_double") as missing:
        a_bench(contract={}).student(MEMBER, "test")
    assert missing.value.status is Status.MISSING
    problem = StudentFault(Status.ERROR, "SyntaxError")
    for _ in range(2):
        with pytest.raises(StudentFault, match="SyntaxError") as raised:
            a_bench(problem=problem).student(MEMBER, "test")
        assert raised.value is not problem


def seen_by(own: Bench, tests: tuple[str, ...] = ("test",)) -> list[tuple[str, int, list, bool]]:
    """Returns the observations of a call in each test."""
    for test in tests:
        try:
            own.student(MEMBER, test)(torch.ones(2))
        except StudentFault:
            continue
    assert own.observations is not None
    seen = own.observations.get("run_double", [])
    return [(one.test, one.number, one.value.tolist(), one.refused) for one in seen]


def test_answers_are_observed_by_exercise_and_numbered_by_test():
    twice = [2.0, 2.0]
    assert seen_by(a_bench(observations={}), ("a", "b", "a")) == [
        ("a", 0, twice, False),
        ("b", 0, twice, False),
        ("a", 1, twice, False),
    ]
    assert a_bench().student(MEMBER, "a")(torch.ones(2)).tolist() == twice


@pytest.mark.parametrize(
    ("answer", "seen"),
    [
        (torch.ones(3), [("test", 0, [1.0] * 3, True)]),
        (5, [("test", 0, 5, True)]),
        (2.5, [("test", 0, 2.5, True)]),
        ("a text", []),
        (None, []),
        ([1.0, 2.0], []),
        (numpy.ones(2), []),
        (Foreign("a module"), []),
        (Elsewhere("float32", (2,), "meta"), []),
    ],
    ids=str,
)
def test_only_numbers_of_a_refused_answer_are_observed(answer, seen):
    """A known mistake may explain a wrong shape."""
    own = a_bench(observations={}, ask=lambda _: Answer(answer))
    assert seen_by(own) == seen


def test_an_accepted_value_that_is_no_number_may_be_observed_too():
    """A text is none, and an object stays in the worker."""
    for answer, kind, seen in [
        (True, PlainType(bool), [("test", 0, True, False)]),
        (numpy.ones(()), kind_of(numpy.ndarray), [("test", 0, 1.0, False)]),
        (Foreign("a module"), Anything(), []),
    ]:
        contract = {"run_double": Adapter("run_double", {"x": FLOATS}, kind)}
        own = a_bench(observations={}, contract=contract, ask=lambda _, it=answer: Answer(it))
        assert seen_by(own) == seen


def test_the_state_of_a_students_own_object_is_not_observed():
    """Its layout is the student's, so it differs from the reference's in right answers too."""
    state = DictType(PlainType(str), Anything())
    counted = Signature({}, PlainType(int))
    made = ObjectType("Counter", {"state_dict": Signature({}, state), "count": counted}, {})
    contract = {"run_double": Adapter("run_double", {"x": FLOATS}, made)}
    values = {"state_dict": {"t": 3}, "count": 3}

    def ask(call: Call) -> Answer:
        return Answer(values[call.last.name] if call.last else Foreign("a Counter"))

    own = a_bench(observations={}, contract=contract, ask=ask)
    counter = own.student(MEMBER, "test")(torch.ones(2))
    assert (counter.state_dict(), counter.count()) == ({"t": 3}, 3)
    assert own.observations is not None
    assert [one.value.tolist() for one in own.observations["run_double"]] == [3]


def test_a_large_answer_is_not_kept(monkeypatch):
    monkeypatch.setattr(benches, "_NUMBERS", 2)
    assert len(seen_by(a_bench(observations={}))) == 1
    monkeypatch.setattr(benches, "_NUMBERS", 1)
    assert seen_by(a_bench(observations={})) == []
