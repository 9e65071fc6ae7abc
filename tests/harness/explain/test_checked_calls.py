"""The calls with which an edit is checked: their order, their kinds, and right answers to them."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
import torch

from grader.core.verdict import Aspect
from grader.core.wire.calls import Call
from grader.core.wire.scripts import Doing, Step
from grader.core.wire.trials import Outcomes
from grader.core.wire.values import Named, as_tensor
from grader.explain.mistakes.mistakes import KnownMistakes
from grader.explain.mistakes.prediction import Numbers
from grader.explain.repair.earlier_calls import HANDED_ON, SAID, Dependence, dependence
from grader.explain.repair.questions import (
    CheckedCall,
    in_turn,
    is_answer,
    is_of_kind,
    telling,
    that_raised,
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
    raised = that_raised(catalogue(), "run", question())
    assert (raised.right, raised.answered, raised.provable) == (False, False, True)
    assert not that_raised(catalogue(), "run_step", question("run_step")).provable
    assert not that_raised(catalogue(), "run_none", question("run_none")).provable


def test_a_dependence_speaks_of_its_own_tests():
    """A test that continues in a new process has its own words."""
    one = Dependence(frozenset({("a", 0), ("h", 1)}), frozenset({"b"}), frozenset({"h"}))
    assert one.concerned == {"a", "b"}
    assert one.also(["c"]).concerned == {"a", "b", "c"}
    assert one.holds(Question("a", 0, Aspect.VALUES, Call("run", {})))
    assert not one.holds(Question("a", 1, Aspect.VALUES, Call("run", {})))
    assert [one.in_words(test) for test in "abh"] == ["", SAID, HANDED_ON]


class Doubles:
    """A catalogue in which every right answer is twice the input."""

    def right(self, seen: Observation) -> Numbers:
        """Returns the right answer."""
        return Numbers(2 * seen.call.arguments["x"].double())


class Sequences:
    """A bench that notes the calls that it replays, and answers none."""

    seconds = 0.0

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def __enter__(self) -> Sequences:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def try_edits(self, trials: Any) -> Any:
        if trials.in_one_state:
            self.seen.append(trials)
            return Outcomes()
        outcomes = Outcomes()
        for place, call in enumerate(trials.calls):
            outcomes.add(0, place, 2 * call.arguments["x"])
        return outcomes


def replayed(asked: list[CheckedCall], made: list[Call]) -> tuple[list[float], Any]:
    """Returns the replayed calls by their inputs, and the dependence."""
    bench = Sequences()
    found = dependence(Doubles(), lambda: bench, asked, made)
    calls = [one for trials in bench.seen for one in trials.calls]
    return [float(one.arguments["x"].flatten()[0]) for one in calls], found


def call(number: float, size: int = 1) -> Call:
    return Call("run", {"x": torch.full((size,), number)})


def test_the_calls_of_the_tests_run_again_in_their_order():
    """Those in question come once more at the end."""
    asked = [
        CheckedCall("run", Question(name, 0, Aspect.VALUES, call(number)), False)
        for name, number in (("a", 2.0), ("b", 3.0))
    ]
    made = [call(1.0), call(2.0), call(3.0)]
    calls, found = replayed(asked, made)
    assert calls == [1, 2, 3, 2, 3]
    assert found.right_first == {("a", 0), ("b", 0)}
    assert found.tests == {"a", "b"}
    assert replayed(asked, [])[0] == []


def test_of_many_earlier_calls_the_first_and_the_last_are_kept():
    """Sixty of each, and those in question wherever they stand."""
    asked = [CheckedCall("run", Question("a", 0, Aspect.VALUES, call(100.0)), False)]
    calls, _ = replayed(asked, [call(float(number)) for number in range(200)])
    assert calls == [*range(60), 100, *range(140, 200), 100]


def test_earlier_calls_beyond_a_million_values_are_left_out():
    """Smaller ones after them still fit."""
    asked = [CheckedCall("run", Question("a", 0, Aspect.VALUES, call(7.0)), False)]
    half = 600_000
    made = [call(1.0, half), call(2.0, half), call(3.0), call(7.0)]
    assert replayed(asked, made)[0] == [1, 3, 7, 7]
    lists = Call("run", {"x": torch.full((1,), 4.0), "more": [torch.ones(half), (1, 2)]})
    nested = Call("run", {"x": torch.full((1,), 5.0), "more": {"w": torch.ones(half)}})
    assert replayed(asked, [lists, nested, call(7.0)])[0] == [4, 7, 7]


def test_right_calls_and_unprovable_ones_are_not_replayed():
    """Without a wrong call there is no dependence."""
    right = CheckedCall("run", Question("a", 0, Aspect.VALUES, call(2.0)), True)
    unprovable = CheckedCall(
        "run", Question("b", 0, Aspect.VALUES, call(2.0)), False, provable=False
    )
    assert replayed([right, unprovable], [call(1.0)])[1] == Dependence()


def test_a_call_that_hands_a_file_on_is_not_replayed_here():
    """It needs two processes."""
    handing = Call("run", {"x": torch.ones(1)}, then=(Step(0, Doing.MAKE, "anew"),))
    asked = [CheckedCall("run", Question("a", 0, Aspect.VALUES, handing), False)]
    calls, found = replayed(asked, [handing])
    assert calls == []
    assert (found.handed_on, found.concerned) == ({"a"}, frozenset())
