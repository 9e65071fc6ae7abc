"""Answers of every kind in every assertion: none makes the grader itself fail."""

from __future__ import annotations

import itertools
import math
from typing import Literal, NamedTuple

import numpy
import pytest
import torch

from grader.core.wire.calls import Answer, Work, decode_answer, encode_answer
from grader.core.wire.frames import received
from grader.core.wire.tensors import DTYPES
from grader.core.wire.values import Elsewhere, Foreign, Named
from grader.explain.answers import InFull
from grader.testing.assertions import (
    assert_gradients_match,
    assert_inputs_unchanged,
    assert_keeps_dtype,
    assert_matches,
    assert_runs_on_another_device,
    assert_same_answer_twice,
    assert_work_does_not_grow,
)
from grader.testing.cases import fresh_case
from grader.testing.contract import Adapter, kind_of
from grader.testing.handles.handle import Reference, Student
from grader.testing.kinds import Anything, PlainType, TensorType
from grader.testing.outcome import StudentFault, observing
from tests.harness.marks import rest_slow

pytestmark = pytest.mark.unit

FLOATS = TensorType("floating-point", ("...", "n"))
SHAPES = [(2, 3), (), (0,), (2, 0), (3,), (3, 2), (1, 2, 3), (1,) * 32, (2,) * 10]
NUMBERS = [0.0, math.nan, math.inf, -math.inf, 1e300, 5.0]
PLAIN = [None, True, False, 0, -1, 2**63 - 1, 1 - 2**63, 1e308, math.nan, -math.inf, "", "x" * 5000]
ELSEWHERE = [
    Elsewhere(dtype, shape, device)
    for dtype in ("float32", "float8_e4m3fn", "complex64", "", "bool")
    for shape in ((2, 3), (), (0,) * 32)
    for device in ("meta", "cpu", "cuda:0", "\x1b[2J")
]
FOREIGN = [
    Foreign(""),
    Foreign("a module of type Linear"),
]
NESTED = [
    [],
    (torch.ones(2, 3), torch.zeros(3)),
    (Elsewhere("float32", (2, 3), "meta"), Foreign("a module")),
    [1, "two", b"three", None, [math.nan, {}]],
    {"w": torch.ones(2, 3), 3: [], (1, b"x"): {Foreign("an object")}},
    Named("Pair", {"x": torch.ones(2, 3), "class": 1}),
    Named("", {}),
    numpy.ones((2, 3), numpy.float32),
    [numpy.zeros((0, 2), numpy.uint16), torch.float16, torch.device("cuda")],
    {"\ud800", "\x1b[2J"},
]


class Pair(NamedTuple):
    """A named tuple of two results."""

    x: torch.Tensor
    rest: dict[str, list[int]]


INT = PlainType(int)
# The reference's function for each type of result; the default doubles its input.
EXPECTED = [
    (FLOATS, lambda x: 2 * x),
    (TensorType("boolean", ("n", "n")), lambda x: x > 0),
    (TensorType("integer", ("n",), is_array=True), lambda x: numpy.arange(x.ndim + 1)),
    (INT, lambda x: x.numel()),
    (PlainType(str), lambda x: f"text of {x.ndim}"),
    (Anything(), lambda x: 2 * x),
    (kind_of(list[Pair]), lambda x: [Pair(x, {"a": [1, 2]})]),
    (kind_of(dict[str | int, tuple[torch.Tensor, ...]]), lambda x: {"w": (x, x), 3: ()}),
    (kind_of(tuple[bytes, set[int]] | None), lambda x: (b"x", {1, x.ndim})),
    (kind_of(Literal["a", 2]), lambda x: "a" if x.ndim else 2),
]


def tensors():
    for shape, number, dtype in itertools.product(SHAPES, NUMBERS, DTYPES.values()):
        yield torch.full(shape, number, dtype=torch.float64).to(dtype)
    mixed = torch.tensor([[1.0, math.nan, math.inf], [-math.inf, 0.0, 2.0]])
    yield from (mixed.to(dtype) for dtype in DTYPES.values())


VALUES = [*tensors(), *PLAIN, *ELSEWHERE, *FOREIGN, *NESTED]


def as_received(answer: Answer) -> Answer:
    """Returns an answer as it comes from a worker."""
    return decode_answer(received(encode_answer(answer)))


def handles(result, answers):
    """Returns the handles of a student who gives these answers in turn, and of a reference."""
    adapter = Adapter("run_it", {"x": FLOATS}, result)
    given = itertools.cycle(map(as_received, answers))

    def ask(call):
        # A call that is repeated to find its line does not use up an answer.
        return Answer() if call.trace else next(given)

    student = Student(adapter, ask, 1, lambda *_: None, InFull())
    function = next(function for kind, function in EXPECTED if kind == result)
    return student, Reference(adapter, {"run_it": function}, fresh_case(1, "test"))


def assertions_on(student, reference):
    x = torch.arange(6.0).view(2, 3)
    yield lambda: assert_matches(student(x), reference(x))
    yield lambda: assert_inputs_unchanged(student, x)
    yield lambda: assert_same_answer_twice(student, x)
    yield lambda: assert_work_does_not_grow(student, reference, {"x": x}, {"x": x})
    if student.adapter.result is not INT:
        yield lambda: assert_runs_on_another_device(student, x)
    if student.adapter.result == FLOATS:
        yield lambda: assert_keeps_dtype(student(x), torch.float32)
        yield lambda: assert_gradients_match(student, reference, torch.ones(2, 3), ("x",), x=x)


def assert_passes_or_fails(assertion):
    """Checks that a test passes or fails; any other exception would be the grader's fault."""
    try:
        with observing(shows_expected=True):
            assertion()
    except (AssertionError, StudentFault) as problem:
        str(problem)
        if hasattr(problem, "pictures"):
            list(problem.pictures("test"))


@pytest.mark.parametrize("part", rest_slow(range(8), 8))
@pytest.mark.parametrize("result", [kind for kind, _ in EXPECTED], ids=str)
def test_no_answer_makes_the_grader_itself_fail(result, part):
    """The values cover every dtype, zero to thirty-two axes, NaN and infinity, and other types."""
    for value in VALUES[part::8]:
        student, reference = handles(result, [Answer(value)])
        for assertion in assertions_on(student, reference):
            assert_passes_or_fails(assertion)


@pytest.mark.process(takes="a second")
def test_no_file_parameter_or_state_dict_makes_the_grader_itself_fail():
    """A worker may claim any value as a file's content, a gradient or a state dict."""
    for value in VALUES:
        student, _ = handles(Anything(), [Answer(value)])
        parameter, module = student.parameter(torch.ones(2)), student.module(torch.nn.Linear(2, 1))
        file = student.file(name="a.txt")
        optimizer = student.optimizer("SGD", module, lr=0.1)
        assert_passes_or_fails(file.read)
        assert_passes_or_fails(file.text)
        assert_passes_or_fails(file.exists)
        assert_passes_or_fails(module.state_dict)
        assert_passes_or_fails(optimizer.state_dict)
        assert_passes_or_fails(lambda it=module: it(torch.ones(2)))
        assert_passes_or_fails(lambda it=parameter: assert_matches(it.value, torch.ones(2)))
        assert_passes_or_fails(lambda it=parameter: assert_matches(it.grad, None))


@pytest.mark.parametrize("result", [FLOATS, Anything()], ids=str)
def test_two_answers_of_different_kinds_are_not_the_same(result):
    """The second answer has another dtype or shape, or is not a tensor."""
    few = [torch.ones(2, 3), torch.ones(2, 3).half(), torch.ones(3), torch.ones(1), None, "x", 7]
    for first, second in itertools.permutations(few, 2):
        student, _ = handles(result, [Answer(first), Answer(second)])
        with pytest.raises((AssertionError, StudentFault)):
            assert_same_answer_twice(student, torch.ones(2, 3))


def test_no_gradient_makes_the_grader_itself_fail():
    """A gradient may have another dtype or shape, belong to an unknown input, or be missing."""
    right = torch.ones(2, 3)
    for value in tensors():
        student, reference = handles(FLOATS, [Answer(right, gradients={"x": value, "y": value})])
        assert_passes_or_fails(list(assertions_on(student, reference))[-1])


@pytest.mark.parametrize("work", [None, Work(0, 0), Work(2**61, 2**61), Work(1, 0)])
@pytest.mark.parametrize("changed", [(), ("x",), ("y" * 100,) * 100, ("\x1b[2J", "")])
def test_no_claimed_work_or_changed_input_makes_the_grader_itself_fail(work, changed):
    """A worker may claim huge counts and the names of inputs that do not exist."""
    answers = [
        Answer(torch.ones(2, 3), work=work, changed_inputs=changed),
        Answer(torch.ones(2, 3)),
    ]
    student, reference = handles(FLOATS, answers)
    for assertion in assertions_on(student, reference):
        assert_passes_or_fails(assertion)


def test_a_number_matches_with_or_without_a_tensor_around_it():
    """If the adapter's result has no annotation, a number may come with or without a tensor."""
    student, _ = handles(Anything(), [Answer(torch.tensor([6.0]))])
    assert_matches(student(torch.ones(6)), torch.tensor(6.0))
    with pytest.raises(
        AssertionError, match=r"is a float, where a tensor of shape \[2\] was expected"
    ):
        assert_matches(student(torch.ones(6)), torch.ones(2))
