"""The calls with which an edit is checked: their order, their kinds, and right answers to them."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
import torch

from grader.core.verdict import Aspect
from grader.core.wire.calls import Call
from grader.core.wire.trials import Outcomes
from grader.core.wire.value_rows import as_tensor
from grader.core.wire.values import Named
from grader.explain.mistakes.mistakes import KnownMistakes
from grader.explain.mistakes.prediction import Numbers
from grader.explain.repair.earlier_calls import SAID, Dependence, dependence
from grader.explain.repair.questions import (
    CheckedCall,
    checked_calls,
    in_turn,
    is_answer,
    is_of_kind,
    telling,
)
from grader.testing.outcome import Observation, Question

pytestmark = pytest.mark.unit

X = torch.ones(2, 3)


def checked(name: str, aspect: Aspect = Aspect.VALUES, exercise: str = "run", **arguments: Any):
    """Returns a wrong call with these arguments, in a test of this name."""
    return CheckedCall(exercise, Question(name, 0, aspect, Call(exercise, arguments)), False)


def names(calls: Any) -> list[str]:
    return [one.question.test for one in calls]


def test_plain_and_small_calls_come_first():
    """Values before other shapes, those before the rest; integers and texts count by their size."""
    calls = [
        checked("gradients", Aspect.GRADIENTS, x=torch.ones(1)),
        checked("deep", Aspect.GENERALITY, x=torch.ones(2)),
        checked("large", x=torch.ones(9)),
        checked("counted", x=torch.ones(3), n=-5),
        checked("worded", x=torch.ones(7), word="long", share=100.0),
    ]
    assert [one.size for one in calls] == [1, 2, 9, 8, 11]
    assert [one.is_plain for one in calls] == [False, True, True, True, True]
    assert [one.rank for one in calls] == [(2, 1), (1, 2), (0, 9), (0, 8), (0, 11)]
    assert names(telling(calls, 9)) == ["counted", "large", "worded", "gradients", "deep"]
    tokens = checked("t", text="abc", words={b"ab": 7, b"c": [b"de", "f"]}, x=torch.ones(2))
    assert tokens.size == 3 + 3 + 3 + 2
    assert checked("array", x=numpy.ones((2, 3))).size == 6


class Walked(list):
    """A list that counts how often its items are gone through."""

    times = 0

    def __iter__(self):
        self.times += 1
        return super().__iter__()


def test_the_size_of_a_call_is_counted_once():
    """A vocabulary has thousands of tokens, and calls are sorted many times."""
    tokens = Walked(["a", "b"])
    call = checked("t", words=tokens)
    before = tokens.times
    telling([call] * 3, 3)
    assert call.size == 2
    assert tokens.times == before


def test_one_call_of_each_kind_comes_first():
    """Calls differ in kind by flags, by omitted arguments and by axes of size 1."""
    calls = [
        checked("a", x=torch.ones(2, 3)),
        checked("b", x=torch.ones(3, 3)),
        checked("c", x=torch.ones(2, 7), n=1),
        checked("d", x=torch.ones(4, 9), n=2),
        checked("row", x=torch.ones(1, 50)),
        checked("flag", x=torch.ones(2, 30), on=True),
        checked("other", x=torch.ones(2, 31), on=False),
        checked("none", x=torch.ones(2, 32), mask=None),
        checked("given", x=torch.ones(2, 33), mask="m"),
        checked("again", x=torch.ones(2, 34), mask="n"),
    ]
    kinds = ["a", "c", "row", "flag", "other", "none", "given"]
    assert names(telling(calls, 99)) == [*kinds, "b", "d", "again"]
    assert names(telling(calls, 8)) == [*kinds, "b"]


def test_a_call_at_other_positions_than_the_default_ones_comes_early():
    """Code that ignores its positions is right wherever they are 0, 1, 2, ..."""
    counting = [checked(f"{n}", x=torch.ones(n), at=torch.arange(n)) for n in (2, 3, 4)]
    batch = checked("batch", x=torch.ones(5), at=torch.arange(5).unsqueeze(0))
    other = checked("other", x=torch.ones(6), at=torch.tensor([4, 1, 0, 2, 3, 5]))
    assert names(telling([*counting, batch, other], 3)) == ["2", "batch", "other"]


def test_the_exercises_take_turns():
    """Each exercise's calls are in their own order, and at most so many."""
    calls = [
        checked("a3", x=torch.ones(5)),
        checked("b1", exercise="run_b", x=torch.ones(9)),
        checked("a1", x=torch.ones(3)),
        checked("a2", x=torch.ones(4)),
    ]
    assert names(in_turn(calls, 3)) == ["a1", "b1", "a2", "a3"]
    assert names(in_turn(calls, 2)) == ["a1", "b1", "a2"]


def catalogue() -> KnownMistakes:
    """Returns a new catalogue, which has seen no test yet."""
    return KnownMistakes(
        {
            "run": lambda x: 2 * x,
            "run_mask": lambda x: x > 0,
            "run_pair": lambda x: (2 * x, x.argmax(-1)),
            "run_step": lambda x: None,  # noqa: ARG005
            "run_none": lambda x: x.nothing,
            "run_ids": lambda x: {0: "a", 1: "b"},  # noqa: ARG005
        },
        others={"run_ids": [lambda x: {1: "a", 0: "b"}]},  # noqa: ARG005
    )


def question(exercise: str = "run", **arguments: Any) -> Question:
    arguments = arguments or {"x": X}
    return Question("t", 0, Aspect.VALUES, Call(exercise, arguments))


@pytest.mark.parametrize(
    ("exercise", "x", "answer", "is_right"),
    [
        ("run", X, 2 * X, True),
        ("run", X, 2 * X + 1e-6, True),
        ("run", X, 3 * X, False),
        ("run", X, None, False),
        ("run", X, (2 * X).double(), False),
        ("run", X.double(), (2 * X).double(), True),
        ("run", X.long(), (2 * X).double(), True),
        ("run", X, (2 * X).long(), True),
        ("run_mask", X, X > 0, True),
        ("run_mask", X, X, False),
        ("run", X / 2, X > 0, False),
        ("run_none", X, X, False),
        ("run_pair", X, as_tensor((2 * X, X.argmax(-1))), True),
        ("run_pair", X, as_tensor((3 * X, X.argmax(-1))), False),
        ("run_pair", X, as_tensor([2 * X]), False),
        ("run_pair", X, as_tensor(Named("Pair", {"twice": 2 * X, "at": X.argmax(-1)})), True),
        ("run_ids", X, as_tensor({0: "a", 1: "b"}), True),
        ("run_ids", X, as_tensor({0: "b", 1: "a"}), True),
        ("run_ids", X, as_tensor({0: "b", 1: "b"}), False),
    ],
)
def test_an_answer_is_right_in_values_dtype_and_kind(exercise, x, answer, is_right):
    """Floating answers keep the dtype of floating inputs, and only a mask is boolean.

    A tuple's dtypes are not known. Other right functions may give other right answers.
    """
    assert is_answer(catalogue(), question(exercise, x=x), answer) is is_right


def test_an_answer_is_boolean_if_and_only_if_the_right_one_is():
    """An answer that the reference cannot give is of any kind."""

    def of_kind(exercise: str, value: torch.Tensor) -> bool:
        call = Call(exercise, {"x": X})
        return is_of_kind(catalogue(), Observation("t", 0, Aspect.VALUES, call, value))

    assert of_kind("run", X)
    assert not of_kind("run", X > 0)
    assert of_kind("run_mask", X > 0)
    assert not of_kind("run_mask", X)
    assert of_kind("run_none", X > 0)


def test_a_call_that_raised_is_provable_if_an_answer_can_be_wrong():
    """Any edit that stops the exception would pass where None is right."""
    for name, provable in (("run", True), ("run_step", False), ("run_none", False)):
        (raised,) = checked_calls(catalogue(), name, (), [question(name)], ())
        assert (raised.right, raised.answered, raised.provable) == (False, False, provable)


def test_a_dependence_speaks_of_its_own_tests():
    """A test may have a call that is right first, and another one that is always wrong."""
    one = Dependence(frozenset({("a", 0)}), frozenset({"b"}))
    assert one.concerned == {"a", "b"}
    assert one.holds(Question("a", 0, Aspect.VALUES, Call("run", {})))
    assert not one.holds(Question("a", 1, Aspect.VALUES, Call("run", {})))
    assert [one.in_words(test) for test in "ab"] == ["", SAID]


class Doubles:
    """A catalogue in which every right answer is twice the input."""

    def right(self, seen: Observation) -> Numbers:
        """Returns the right answer."""
        return Numbers(2 * seen.call.arguments["x"].double())


class Unsteady:
    """A bench whose program answers rightly, except for an input of 3 in its second run."""

    seconds = 0.0

    def __init__(self) -> None:
        self.runs = 0

    def __enter__(self) -> Unsteady:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def try_edits(self, trials: Any) -> Any:
        self.runs += 1
        outcomes = Outcomes()
        for place, call in enumerate(trials.calls):
            x = call.arguments["x"]
            outcomes.add(0, place, x if self.runs == 2 and x == 3 else 2 * x)
        return outcomes


def asked_about(number: float, right: bool = False, provable: bool = True) -> CheckedCall:
    call = Call("run", {"x": torch.full((1,), number)})
    question = Question(f"test_{number:g}", 0, Aspect.VALUES, call)
    return CheckedCall("run", question, right, provable=provable)


def test_a_wrong_call_is_right_first_if_it_is_so_in_every_run():
    """A random answer is right now and then."""
    found = dependence(Doubles(), Unsteady, [asked_about(2.0), asked_about(3.0)])
    assert (found.right_first, found.tests) == ({("test_2", 0)}, {"test_2"})


def test_right_calls_and_unprovable_ones_do_not_run_alone():
    """Without a wrong call there is no dependence."""
    asked = [asked_about(2.0, right=True), asked_about(4.0, provable=False)]
    assert dependence(Doubles(), Unsteady, asked) == Dependence()
