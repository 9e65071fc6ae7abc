"""The whole message about an exception or a refused value: its lines and their order."""

from __future__ import annotations

from typing import NamedTuple

import numpy
import pytest
import torch

from grader.core.verdict import Status, Where
from grader.core.wire.calls import Call, Frame, Operand, Raised
from grader.core.wire.records import Line
from grader.core.wire.scripts import Doing, Step
from grader.core.wire.values import Elsewhere, Foreign, Named, Value
from grader.explain.answers import InFull, is_of_wrong_shape, refusal_in_words, words_of
from grader.explain.exceptions.explanation import call_in_words, fault_of, printed_in_words
from grader.testing.assertions import assert_matches
from grader.testing.contract import Adapter, kind_of
from grader.testing.handles.scripts import REMARK
from grader.testing.kinds import Kind, ListType, PlainType, TensorType, TupleType
from grader.testing.outcome import StudentFault
from grader.worker.marshalling import ANEW

pytestmark = pytest.mark.unit

OUTER, INNER = Frame("a.py", 3, "run", "return f(x)"), Frame("b.py", 7, "f", "return x + mask")
CALL = Call("run", {"x": torch.ones(2, 3), "n": 4})
CALLED = "The test called run(x=float32[2, 3], n=4)."


def test_a_message_has_its_parts_in_a_fixed_order():
    """Headline, source, operands, the explanation, the call, the output."""
    raised = Raised(
        "TypeError",
        "unsupported operand type(s) for +: 'Tensor' and 'NoneType'",
        (OUTER, INNER),
        operands=(Operand("x", "float32[2, 3]"), Operand("g(...)", ""), Operand("mask", "None")),
        not_run="The cell 3 was not run.",
        printed="one\n\n  \ntwo  \n",
    )
    fault = fault_of(raised, "run", CALL)
    assert (fault.status, fault.where, fault.settled) == (Status.ERROR, Where("b.py", 7), False)
    assert fault.message.splitlines() == [
        "TypeError: unsupported operand type(s) for +: 'Tensor' and 'NoneType' (b.py:7)",
        "    return x + mask",
        "    with x = float32[2, 3], mask = None",
        "Something there is None: an argument that was left out, say, or what a function without a "
        "return gives.",
        "The cell 3 was not run.",
        CALLED,
        "Printed just before:",
        "    | one",
        "    | two",
    ]


def test_a_message_has_only_the_parts_that_are_known():
    """An exception without a line, an explanation or a call is one line."""
    fault = fault_of(Raised("ValueError", "no"), "run")
    assert (fault.message, fault.where, fault.settled) == ("ValueError: no", None, False)
    assert fault_of(Raised("ValueError", ""), "run").message == "ValueError"


def test_an_explanation_may_settle_the_cause():
    assert fault_of(Raised("NameError", "name 'math' is not defined", (INNER,)), "run").settled


def test_an_exercise_that_is_not_written_is_missing():
    """The line that says so is told."""
    raised = Raised("NotImplementedError", "", (OUTER,), missing=True)
    fault = fault_of(raised, "run", CALL)
    assert (fault.status, fault.where) == (Status.MISSING, Where("a.py", 3))
    assert fault.message == "run is not implemented yet (a.py:3: return f(x))"
    absent = fault_of(Raised("NameError", "", missing=True), "run", CALL)
    assert (absent.message, absent.where) == ("run is not implemented yet", None)


@pytest.mark.parametrize("missing", [True, False])
def test_a_place_holds_no_control_characters_of_a_submission(missing):
    """They would colour a terminal, or turn the direction of writing."""
    frame = Frame("a\x1b[2Jb.py", 3, "f", "raise NotImplementedError  # \x1b[31mred \u202eabc")
    fault = fault_of(Raised("NotImplementedError", "", (frame,), missing=missing), "run")
    assert not {"\x1b", "\u202e"} & {*fault.message}
    assert "raise NotImplementedError  # red abc" in fault.message
    assert fault.where == Where("ab.py", 3)


def test_wrong_arguments_of_a_test_are_placed_at_the_function():
    """No line of the submission ran."""
    text = "run() got an unexpected keyword argument 'x'"
    raised = Raised("TypeError", text, accepts="run(y, n=1) in c.py:12")
    assert fault_of(raised, "run", CALL).where == Where("c.py", 12)


def test_a_long_text_of_an_exception_keeps_300_characters_of_its_two_ends():
    """White space counts once."""
    headline = fault_of(Raised("E", "a  \n b " + "c" * 400 + " end"), "run").message
    assert headline == f"E: a b {'c' * 196} … {'c' * 93} end"
    assert fault_of(Raised("E", "c" * 300), "run").message == f"E: {'c' * 300}"


def test_a_long_text_of_an_exception_is_cut_between_words():
    """A part of a word says nothing, or something else."""
    text = "word " * 39 + "that is " + "left out " * 20 + "end"
    headline = fault_of(Raised("E", text), "run").message
    assert headline == f"E: {'word ' * 39}that … {'left out ' * 10}end"


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (Step(0, Doing.READ, "weight"), "run(n=4), and then its weight"),
        (Step(0, Doing.READ), "run(n=4), and then what it gave"),
        (Step(0, Doing.CALL, "step", (1,), {"b": 2}), "run(n=4), and then its step(1, b=2)"),
        (Step(0, Doing.CALL, "", (1,)), "run(n=4), and then what it gave with (1)"),
        (Step(0, Doing.MAKE, "read"), "run(n=4), and then looked at the files"),
        (Step(0, Doing.ASK, "run_b", (), {"b": 2}), "run(n=4), and then run_b(b=2)"),
    ],
)
def test_the_last_step_of_a_script_is_told_after_the_call(step, words):
    """Reading, calling, iterating, making and asking each have their words."""
    assert call_in_words(Call("run", {"n": 4}, then=(step,))) == words


def test_an_item_is_told_with_its_number():
    items = Step(0, Doing.ITERATE), Step(1, Doing.NEXT, times=3)
    said = "run(n=4), and asked for item 3 of what it gave"
    assert call_in_words(Call("run", {"n": 4}, then=items)) == said


def test_a_script_without_a_call_tells_what_the_test_had_made():
    """Its objects were made beside the submission."""
    step = Step(0, Doing.CALL, "step", (1,))
    assert call_in_words(Call("", {}, before=(step,))) == "what it had made, and then its step(1)"


def test_the_words_for_the_arguments_of_a_call_are_bounded():
    """A call may have many: a mark ends those that are shown, and none is cut."""
    words = call_in_words(Call("run", {f"n{number}": number for number in range(200)}))
    assert words.endswith(", n64=64…)")
    assert len(words) <= len("run()") + 500


def test_a_file_handed_on_to_another_process_is_told_with_the_call():
    """Only then is anything lost."""
    handed = Call("run", {}, then=(Step(0, Doing.MAKE, ANEW),))
    assert REMARK in fault_of(Raised("ValueError", "no"), "run", handed).message
    assert REMARK not in fault_of(Raised("ValueError", "no"), "run", CALL).message


def test_the_last_ten_lines_of_the_output_are_quoted():
    """Long lines are cut to 120 characters."""
    printed = "\n".join(str(number) for number in range(12))
    first, *quoted = printed_in_words(printed)
    assert first == "Printed just before:"
    assert quoted == [f"    | {number}" for number in range(2, 12)]
    assert [*printed_in_words("x" * 120 + "\n" + "y" * 121)][1:] == [
        f"    | {'x' * 120}",
        f"    | {'y' * 119}…",
    ]
    assert [*printed_in_words(" \n\n")] == []


class Pair(NamedTuple):
    a: int
    b: int


FLOATS = TensorType("floating-point", ("...", "n"))
MASK = TensorType("boolean", ("...", "n"))
X = torch.ones(2, 3)
GOT = {"x": X}


def adapter(result: Kind, is_item: bool = False) -> Adapter:
    return Adapter("run", {"x": FLOATS}, result, is_item)


def refusal(result: Kind, value: Value, source: str | None = None) -> list[str]:
    """Returns the lines about a refused value, without those on its place and its call."""
    line = None if source is None else Line("a.py", 3, source)
    said, *rest = refusal_in_words(adapter(result), value, Call("run", GOT), line).splitlines()
    assert rest.pop() == "The test called run(x=float32[2, 3])."
    if line is not None:
        assert said.endswith(" (a.py:3)")
        assert rest.pop(0) == f"    {source}"
    return [said.removesuffix(" (a.py:3)"), *rest]


NO_RETURN = "The function ends there without a return, and so gives None: return the result."
COMMON = [
    (FLOATS, None, None, ["None", "Is there a return at its end, on every way through it?"]),
    *((FLOATS, None, source, ["None", NO_RETURN])
      for source in ("y = x", "print(x)", "show(x)", "returns = x")),
    (FLOATS, None, "return y", ["None", "This line returns None: return y"]),
    (FLOATS, None, "raise y", ["None", "Is there a return at its end, on every way through it?"]),
    (PlainType(int), 2.5, "return x / 2", ["the float 2.5"]),
    (PlainType(int), "2", None, ["the str '2'"]),
    (FLOATS, numpy.ones((2, 3)), None, ["a numpy array of shape [2, 3] and dtype float64",
                                       "Stay with torch throughout, and return the tensor: numpy "
                                       "ends the gradient."]),
    (PlainType(int), numpy.ones((2, 3)), None, ["a numpy array of shape [2, 3] and dtype float64"]),
    (FLOATS, Foreign("a tensor of dtype torch.uint16"), None,
     ["a tensor of dtype torch.uint16", "Torch computes with signed integers: .long(), or "
                                        "dtype=torch.long, makes it int64."]),
    (FLOATS, Foreign("a module of type Net"), None, ["a module of type Net"]),
    (FLOATS, Foreign("an iterator of type map"), None, ["an iterator of type map"]),
    (PlainType(str), X, None, ["a tensor of shape [2, 3]"]),
    (FLOATS, [X[0], X[1]], None, ["a list of 2: float32[3], float32[3]"]),
    (PlainType(str), [1, 2], None, ["a list of 2: 1, 2"]),
    (PlainType(str), [], None, ["an empty list"]),
    (PlainType(str), set(), None, ["an empty set"]),
    (PlainType(str), Named("Out", {"w": X}), None, ["the named tuple Out(w=float32[2, 3])"]),
    (FLOATS, (X,), None, ["a tuple of 1: float32[2, 3]"]),
    (PlainType(bytes), [b"a", b"b"], None, ["a list of 2: b'a', b'b'"]),
]  # fmt: skip


@pytest.mark.parametrize(("result", "value", "source", "said"), COMMON)
def test_a_value_of_another_type_is_described_with_advice(result, value, source, said):
    """The line that produced it may tell more than the value."""
    got, *advice = said
    assert refusal(result, value, source) == [f"run must return {result}, not {got}", *advice]


@pytest.mark.parametrize(
    ("result", "value", "said", "advice"),
    [
        (FLOATS, X.long(), "a floating-point tensor (... n), not one of dtype int64", []),
        (FLOATS, Elsewhere("int64", (2, 3), "meta"),
         "a floating-point tensor (... n), not one of dtype int64", []),
        (MASK, X, "a boolean tensor (... n), not one of dtype float32",
         ["Every number in it is 0 or 1: a comparison, or .bool(), makes it boolean."]),
        (MASK, X - 1,
         "a boolean tensor (... n), not one of dtype float32",
         ["Every number in it is 0 or 1: a comparison, or .bool(), makes it boolean."]),
        (MASK, 2 * X, "a boolean tensor (... n), not one of dtype float32", []),
        (MASK, torch.ones(0), "a boolean tensor (... n), not one of dtype float32", []),
        (FLOATS, X.bool(), "a floating-point tensor (... n), not one of dtype bool", []),
        (MASK, Elsewhere("float32", (2, 3), "meta"),
         "a boolean tensor (... n), not one of dtype float32", []),
    ],
)  # fmt: skip
def test_a_tensor_of_another_dtype_is_described_by_it(result, value, said, advice):
    """The values of a mask in the making tell how to make it boolean."""
    assert refusal(result, value) == [f"run must return {said}", *advice]


def test_a_wrong_part_of_a_value_is_told_by_its_place():
    """Its advice is that of a whole value."""
    floats = ListType(FLOATS)
    assert refusal(floats, [X, X.tolist()]) == [
        "In what run returned, [1] must be a floating-point tensor (... n), not a list of 2: "
        "[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]",
    ]
    assert refusal(floats, [X, X.long()]) == [
        "In what run returned, [1] must be a floating-point tensor (... n), not int64[2, 3]"
    ]
    assert refusal(TupleType((FLOATS, FLOATS)), (X, torch.ones(2, 4))) == [
        "In what run returned, [1] must have shape (... n), which is [2, 3], not [2, 4]"
    ]
    assert refusal(ListType(PlainType(int)), [1, X]) == [
        "In what run returned, [1] must be an int, not a tensor of shape [2, 3]"
    ]
    pairs = ListType(kind_of(Pair))
    for fields, said in (
        ({"a": 1}, "b missing"),
        ({"a": 1, "b": 2, "c": 3}, "c too much"),
        ({"a": 1, "c": 3}, "b missing and c too much"),
    ):
        told = refusal(pairs, [Named("Pair", {"a": 1, "b": 2}), Named("Pair", fields)])
        assert told == [f"In what run returned, [1] has {said}"]


def test_an_item_of_an_iterator_is_told_without_a_call():
    """The test reads it while it iterates."""
    call, line = Call("run", GOT), Line("a.py", 3, "yield x")
    assert refusal_in_words(adapter(PlainType(int), is_item=True), [1, 2], call, line) == (
        "run must be an int, not a list of 2: 1, 2\n"
        "The test expects one after another: yield from gives what is in a list one by one.\n"
        "The test read run."
    )


@pytest.mark.parametrize(
    ("result", "value", "is_of_shape"),
    [
        (FLOATS, X.long(), False),
        (FLOATS, X[0], True),
        (FLOATS, Elsewhere("float32", (3,), "meta"), True),
        (FLOATS, [X], False),
        (PlainType(int), X, False),
        (ListType(FLOATS), [X.long()], False),
    ],
)
def test_a_refused_value_breaks_the_contract_by_type_shape_or_dtype(result, value, is_of_shape):
    """The line behind a type or dtype is looked for, but not that of a shape."""
    line = Line("a.py", 3, "return y")
    call = Call("run", GOT)
    assert is_of_wrong_shape(adapter(result), value, call) is is_of_shape
    fault = InFull().refused(adapter(result), value, call, lambda: line)
    wanted = None if is_of_shape else Where("a.py", 3)
    assert (fault.where, fault.status) == (wanted, Status.FAILED)


def test_each_exception_of_a_test_has_its_words():
    """Faults and comparisons speak for themselves; other exceptions must not leak a text."""
    where = Where("a.py", 3)
    fault = StudentFault(Status.ERROR, "it raised", where)
    assert (words_of(fault, "About.").message, words_of(fault, "About.").where) == (
        "it raised",
        where,
    )
    with pytest.raises(AssertionError) as wrong:
        assert_matches(torch.zeros(2), torch.ones(2))
    told = words_of(wrong.value, "About.")
    assert told.message.startswith("every value is wrong")
    assert told.measurement is not None
    with pytest.raises(AssertionError) as form:
        assert_matches(torch.zeros(3), torch.ones(2))
    assert words_of(form.value, "About.").message == str(form.value)
    assert words_of(AssertionError("not so\nassert 1 == 2"), "About.").message == "not so"
    assert words_of(AssertionError(""), "About.").message == "About."
    said = "this answer cannot be compared with the expected one (KeyError)"
    assert words_of(KeyError("secret"), "About.").message == said
