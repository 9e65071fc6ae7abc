"""Step comparison: the calls that are repeated, the steps that are told, and roles of variables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import torch

from grader.core.evidence import StepSeen, StepWalk
from grader.core.verdict import Aspect, Status
from grader.core.wire.calls import Answer, Call, Record
from grader.core.wire.records import Line
from grader.explain.layouts import RESULT
from grader.explain.mistakes.mistakes import KnownMistakes
from grader.explain.step_comparison import (
    StepComparison,
    compare_steps,
    first_strange,
    in_words,
    steps_seen,
)
from grader.testing.outcome import Observation, StudentFault

pytestmark = pytest.mark.unit

X = torch.tensor([1.0, 2.0, 4.0])
LINES = [Line("a.py", number, f"x = {number}") for number in range(9)]


def record(value: torch.Tensor, line: int = 1, *more: int) -> Record:
    return Record(value, tuple(LINES[number] for number in (line, *more)))


INF = float("inf")


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ([[1.0], [INF], [float("nan")]], 1),
        ([[1.0], [float("nan")], [INF]], 1),
        ([[1.0], [2.0]], None),
        ([[-INF], [1.0], [float("nan")]], None),
        ([[-INF], [1.0], [INF]], 2),
        ([[float("nan"), -INF]], 0),
    ],
)
def test_the_first_nan_or_infinity_is_told_unless_a_mask_came_before(values, line):
    """A softmax of a row that is masked whole gives NaN, and the mask may be right."""
    records = [record(torch.tensor(value), number) for number, value in enumerate(values)]
    assert first_strange(records) == (None if line is None else LINES[line])


def test_values_without_a_line_or_a_fraction_are_not_strange():
    """The innermost line is told."""
    nan = torch.tensor([float("nan")])
    assert first_strange([Record(nan, ()), record(torch.tensor([1]), 2)]) is None
    assert first_strange([record(nan, 3, 4)]) == LINES[4]


def seen(name: str, right: bool | None) -> StepSeen:
    return StepSeen(name, (3,), (3,) if right else None, right)


def test_right_steps_are_listed_and_the_first_wrong_one_named():
    """Six are enough; the result has no name. Steps that were not seen may be wrong as well."""
    steps = [seen("scores", True), seen("scaled", None), seen("weights", False), seen("r", None)]
    said = (
        'Right so far: scores. The next step, "weights", or what it is given is missing or wrong.'
    )
    assert in_words(steps) == f"{said} Not recognised before it: scaled."
    many = [*(seen(str(number), True) for number in range(6)), seen(RESULT, False)]
    assert in_words(many) == "Right so far: 0, 1, 2, 3, 4 and 5. The result is wrong."
    more = [seen("first", True), *many]
    assert in_words(more) == "Right so far: …, 0, 1, 2, 3, 4 and 5. The result is wrong."


def test_words_belong_to_the_test_whose_call_was_repeated():
    """A strange value is told in place of the steps."""
    walk = StepWalk("run", "a", (seen("scores", True), seen(RESULT, False)))
    found = StepComparison(walk, {"b": LINES[4]})
    steps = "Right so far: scores. The result is wrong."
    strange = "The first NaN or positive infinity appears in a.py:4: x = 4"
    told = {test: found.in_words(test) for test in "abc"}
    assert told == {"a": steps, "b": strange, "c": ""}
    assert (found.strange.get("b"), found.strange.get("a")) == (LINES[4], None)


STEPS = {"scores": [X], "scaled": [X * 3 + 1], "weights": [X.exp()], RESULT: [X.sin()]}


@pytest.mark.parametrize(
    ("values", "right"),
    [
        ([X], [True, False, None, None]),
        ([X, X * 3 + 1], [True, True, False, None]),
        ([X * 3 + 1], [None, True, False, None]),
        ([X, X.exp()], [True, None, True, False]),
        ([X.cos()], []),
        ([X, X.sin()], []),
    ],
)
def test_the_step_after_the_last_right_one_is_wrong(values, right):
    """Steps before it may be computed in another way; with the result right, nothing is told."""
    found = steps_seen([record(value, number) for number, value in enumerate(values)], STEPS)
    assert [one.right for one in found] == right


@pytest.mark.parametrize(
    ("computed", "right"),
    [
        # Blocks of keys are neither the scores nor those of one head or sequence.
        ([(2, 3, 5, 2), (2, 3, 5, 3)], [True, None, False]),
        ([(2, 3, 5, 5)], [True, False, None]),
        ([(3, 5, 5), (3, 5, 5)], [True, False, None]),
        ([(2, 5, 5)], [True, False, None]),
        ([(5, 5)], [True, False, None]),
    ],
)
def test_a_step_of_which_nothing_was_seen_is_not_called_wrong(computed, right):
    """It may be right: a program may compute it in blocks, or inside one operation."""
    draw = torch.Generator().manual_seed(1)
    queries, scores, result = (
        torch.rand(*shape, generator=draw) for shape in ((2, 3, 5, 4), (2, 3, 5, 5), (2, 3, 5, 2))
    )
    own = {"queries": [queries], "scores": [scores], RESULT: [result]}
    values = [queries, *(torch.rand(*shape, generator=draw) for shape in computed)]
    found = steps_seen([record(value, number) for number, value in enumerate(values)], own)
    assert [one.right for one in found] == right


def test_a_mask_as_large_as_a_slice_of_the_scores_is_not_taken_for_them():
    """A mask is True or False: what is computed in blocks of keys may be right beside it."""
    draw = torch.Generator().manual_seed(1)
    queries, scores, result = (
        torch.rand(*shape, generator=draw) for shape in ((2, 3, 5, 4), (2, 3, 5, 5), (2, 3, 5, 2))
    )
    mask = torch.ones(5, 5).tril().bool()
    own = {"queries": [queries], "mask": [mask], "scores": [scores], RESULT: [result]}
    blocks = [torch.rand(2, 3, 5, many, generator=draw) for many in (2, 3)]
    records = [record(value, number) for number, value in enumerate((queries, mask, *blocks))]
    assert [one.right for one in steps_seen(records, own, fixed={"mask"})] == [
        True,
        True,
        None,
        False,
    ]
    other = [record(queries), record(~mask, 2)]
    assert [one.right for one in steps_seen(other, own)] == [True, False, None, None]


def test_a_step_that_is_nearly_right_ends_what_is_told():
    """A norm with a wrong eps is off by less than a thousandth, as rounding may be elsewhere."""
    nearly = [record(X), record((X * 3 + 1) * 1.0005, 2)]
    assert steps_seen(nearly, STEPS) == ()
    told = steps_seen([*nearly, record(X.exp(), 3)], STEPS)
    assert [one.right for one in told] == [True, None, True, False]


TABLE, KEYS, OTHER = X.sqrt(), 5 * X, X - 7
BESIDE = {"normed": [X], "table": [TABLE], "angles": [OTHER], "turned": [KEYS], RESULT: [X.sin()]}


@pytest.mark.parametrize(
    ("values", "right"),
    [
        ([X, TABLE, OTHER], [True, True, True, False, None]),
        ([X, OTHER], [True, None, True, False, None]),
        ([X, TABLE], [True, True, False, None, None]),
        ([X, KEYS], [True, None, None, True, False]),
        # The norm is not right, whichever tables are.
        ([TABLE, OTHER], []),
        ([OTHER, KEYS], [None, None, True, True, False]),
    ],
)
def test_a_step_that_is_equal_for_every_input_does_not_show_that_earlier_ones_are_right(
    values, right
):
    """A right table of angles says nothing about the norm before it, but all about its parts."""
    records = [record(value, number) for number, value in enumerate(values)]
    found = steps_seen(records, BESIDE, fixed={"table", "angles"})
    assert [one.right for one in found] == right


def steps(_function: object, arguments: Mapping[str, torch.Tensor]) -> dict[str, Any]:
    return {"doubled": [2 * arguments["x"]]}


KNOWN = KnownMistakes({"run": lambda x: 2 * x + 1, "run_b": lambda x: 2 * x + 1}, None, steps)
BARE = KnownMistakes({"run": lambda x: 2 * x + 1})


def observed(
    test: str,
    value: torch.Tensor | None = None,
    aspect: Aspect = Aspect.VALUES,
    size: int = 3,
    number: int = 0,
) -> Observation:
    x = torch.arange(1.0, 1.0 + size)
    return Observation(
        test, number, aspect, Call("run", {"x": x}), 0 * x if value is None else value
    )


def followed(
    *answers: Observation, catalogue: KnownMistakes = KNOWN, failed: str = "abcdefgh"
) -> tuple[list[int], StepComparison | None]:
    """Returns the sizes of the inputs of the repeated calls, and the comparison."""
    asked: list[int] = []

    def ask(call: Call) -> Answer:
        x = call.arguments["x"]
        asked.append(x.numel())
        assert call.record
        if x.numel() == 7:
            raise StudentFault(Status.TIMEOUT, "late")
        strange = record(x * float("nan"), 4)
        return Answer(0 * x, records=(record(2 * x, 3), strange))

    found = compare_steps(catalogue, ask, {"run": answers}, failed)
    return asked, found.get("run")


def test_the_largest_plain_call_is_repeated():
    """It matches least by chance, and plain calls come before other shapes."""
    deep = observed("d", aspect=Aspect.GENERALITY, size=9)
    calls, found = followed(observed("a", size=3), observed("b", size=5), deep)
    assert calls == [5]
    assert found.walk == StepWalk(
        "run", "b", (StepSeen("doubled", (5,), (5,), True), StepSeen(RESULT, (5,), None, False))
    )
    assert found.strange == {}
    assert followed(deep)[0] == [9]


def test_a_call_whose_shapes_tell_the_axes_apart_is_compared_first():
    """With as many heads as features of each head, a split in the wrong order looks right."""

    def split(_function: object, arguments: Mapping[str, torch.Tensor]) -> dict[str, Any]:
        return {"heads": [arguments["x"].view(2, -1)]}

    catalogue = KnownMistakes({"run": lambda x: 2 * x + 1}, None, split)
    square, tall = observed("a", size=4), observed("b", size=2)
    assert followed(square, tall, catalogue=catalogue)[0] == [2]
    assert followed(square, catalogue=catalogue)[0] == [4]


def test_right_answers_and_tests_that_passed_are_not_followed():
    """There is nothing to compare then."""
    right = observed("a", 2 * torch.arange(1.0, 4.0) + 1)
    assert followed(right) == ([], None)
    assert followed(observed("a"), failed="b") == ([], None)
    assert followed(observed("a", aspect=Aspect.GRADIENTS))[0] == []


def test_a_nearly_right_answer_has_no_steps():
    """Its wrong steps would be nearly right as well; its call is repeated for other findings."""
    nearly = observed("a", (2 * torch.arange(1.0, 4.0) + 1) * 1.001)
    calls, found = followed(nearly)
    assert calls == [3]
    assert found.walk is None
    other = observed("b", size=2)
    assert followed(nearly, other)[0] == [2]


def test_answers_with_nan_are_repeated_too_one_of_each_test():
    """Each test is told its own line."""
    nan = float("nan") * torch.ones(4)
    calls, found = followed(
        observed("a", size=3),
        observed("b", nan, Aspect.NUMERICS, 4),
        observed("b", nan, Aspect.NUMERICS, 4, number=1),
        observed("c", nan, Aspect.NUMERICS, 4),
    )
    assert calls == [3, 4, 4]
    assert found.strange == {"b": LINES[4], "c": LINES[4]}
    assert found.walk.test == "a"
    many = [observed(test, nan, Aspect.NUMERICS, 4) for test in "abcdefgh"]
    assert followed(*many)[0] == [4] * 6


def test_without_known_steps_one_plain_call_is_repeated():
    """Its records may still show where a NaN begins."""
    calls, found = followed(observed("a", size=3), observed("b", size=5), catalogue=BARE)
    assert calls == [5]
    assert found.walk is None


def test_a_call_that_is_lost_shows_nothing():
    """The explanation goes on."""
    calls, found = followed(observed("a", size=7))
    assert calls == [7]
    assert (found.walk, found.strange) == (None, {})


def test_a_step_that_the_same_line_mixes_up_is_not_right():
    """A view on the way to a wrong split may hold the right numbers in the right order."""
    scores, heads = torch.arange(6.0), torch.arange(18.0).reshape(2, 3, 3)
    right = {"scores": [scores], "heads": [heads], "mixed": [heads.sin()], RESULT: [heads.cos()]}
    before, split = record(scores, 1), record(heads, 2)
    mixed_up = record(heads.transpose(1, 2), 2)
    assert [one.right for one in steps_seen([before, split], right)] == [True, True, False, None]
    seen = steps_seen([before, split, mixed_up], right)
    assert [one.right for one in seen] == [True, False, None, None]
    elsewhere = record(heads.transpose(1, 2), 3)
    seen = steps_seen([before, split, elsewhere], right)
    assert [one.right for one in seen] == [True, True, False, None]
