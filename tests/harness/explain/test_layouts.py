"""Tensors in other layouts: how like they are to the steps of a reference."""

from __future__ import annotations

import math

import pytest
import torch

from grader.core.wire.records import Line
from grader.explain.deadline import NEVER, Deadline, TooLate, still_running, what_runs
from grader.explain.layouts import RESULT, KnownSteps, Likeness

pytestmark = pytest.mark.unit

STEP = torch.arange(24.0).reshape(2, 3, 4)
SAME, PERMUTED, MERGED = Likeness.SAME, Likeness.PERMUTED, Likeness.MERGED


def likeness(value: torch.Tensor, **steps: torch.Tensor) -> dict[str, Likeness]:
    return dict(KnownSteps({name: [step] for name, step in steps.items()}).likeness(value))


@pytest.mark.parametrize(
    ("value", "like"),
    [
        (STEP, SAME),
        (STEP[None, :, None], SAME),
        (STEP + 9e-6, SAME),
        (STEP * (1 + 1e-6), SAME),
        (STEP + 5e-5, None),
        (STEP * 1.0005, None),
        (STEP * 1.01, None),
        (STEP.transpose(0, 2), PERMUTED),
        (STEP.permute(1, 0, 2), PERMUTED),
        (STEP.flatten(), MERGED),
        (STEP.reshape(6, 4), MERGED),
        (STEP.reshape(2, 3, 2, 2), MERGED),
        (STEP.permute(1, 0, 2).reshape(6, 4), MERGED),
        (STEP.transpose(0, 2).reshape(2, 3, 4), None),
        (STEP.flip(0), None),
        (STEP.reshape(4, 3, 2), None),
        (STEP[0], None),
        (STEP * math.nan, None),
    ],
)
def test_a_layout_is_the_same_permuted_or_merged(value, like):
    """Values in another order are another step, or farther off than a right answer may be."""
    assert likeness(value, it=STEP) == ({} if like is None else {"it": like})


def test_an_infinite_value_is_like_no_finite_one():
    """A tensor that overflowed is no step."""
    assert likeness(torch.full_like(STEP, math.inf), it=STEP) == {}


def test_axes_of_one_length_keep_their_order():
    """Their order cannot be told from the shape."""
    square = torch.arange(18.0).reshape(3, 3, 2)
    assert likeness(square.permute(2, 0, 1), it=square) == {"it": PERMUTED}
    assert likeness(square.transpose(0, 1), it=square) == {}


def test_large_negative_values_count_as_masked():
    """A mask may use any of them."""
    masked = torch.tensor([1.0, 2.0, -math.inf, -1e9])
    assert likeness(torch.tensor([1.0, 2.0, -6000.0, -math.inf]), it=masked) == {"it": SAME}
    assert likeness(torch.tensor([1.0, 2.0, -3000.0, -math.inf]), it=masked) == {}


@pytest.mark.parametrize(
    ("step", "is_known"),
    [
        (torch.zeros(4), False),
        (torch.tensor([0.0, 1.0]), True),
        (torch.tensor([7.0]), False),
        (torch.arange(64.0).reshape(2, 2, 2, 2, 2, 2), False),
        (torch.arange(32.0).reshape(2, 2, 2, 2, 2), True),
        (torch.tensor(40.0), True),
        (torch.tensor(-40.0), True),
        (torch.tensor(10.0), True),
        (torch.tensor(9.5), False),
    ],
)
def test_a_step_with_too_little_to_tell_is_not_recognised(step, is_known):
    """Two different values are enough, or a single number of ten or more."""
    assert likeness(step, it=step) == ({"it": SAME} if is_known else {})


def test_a_slice_is_told_by_its_cut_and_number():
    """Equal slices cannot be told apart, and a slice needs three values of its own."""
    known = KnownSteps({"it": [STEP]})
    alike = known.alike(STEP[1])
    assert alike.steps == {}
    ((cut, number),) = alike.slices
    assert (cut.name, cut.form, cut.axes, cut.count, number) == ("it", 0, (0,), 2, 1)
    assert set(alike.slices.values()) == {SAME}
    ((cut, number),) = known.alike(STEP[:, 2]).slices
    assert (cut.axes, cut.count, number) == ((1,), 3, 2)
    ((cut, number),) = known.alike(STEP[1, 2]).slices
    assert (cut.axes, cut.count, number) == ((0, 1), 6, 5)
    assert known.alike(STEP[:, :, 1]).slices == {}
    twice = KnownSteps({"it": [torch.stack([STEP[0], STEP[0]])]})
    assert twice.alike(STEP[0]).slices == {}
    two = KnownSteps({"it": [torch.tensor([[0.0, 1, 1, 0], [1, 0, 2, 1]])]})
    assert two.alike(torch.tensor([0.0, 1, 1, 0])).slices == {}
    assert len(two.alike(torch.tensor([1.0, 0, 2, 1])).slices) == 1


def test_a_step_equal_to_an_earlier_one_is_doubtful():
    """The result never is, and other layouts are other steps."""
    first = torch.arange(6.0)
    known = KnownSteps(
        {"a": [first], "b": [first + 0], "c": [first.reshape(2, 3)], RESULT: [first + 0]}
    )
    assert known.doubtful == {"b"}
    assert known.most_like(first) == ["a", RESULT]
    later = KnownSteps({"a": [first + 9, first], "b": [first * 3, first]})
    assert later.doubtful == {"b"}


def test_the_most_alike_steps_are_those_of_the_best_layout():
    """Of merged ones, the earliest is meant."""
    known = KnownSteps({"a": [STEP], "b": [STEP.transpose(0, 1)], "c": [STEP.reshape(6, 4)]})
    assert known.most_like(STEP) == ["a"]
    assert known.most_like(STEP.reshape(6, 4)) == ["c"]
    assert known.most_like(STEP.transpose(0, 1)) == ["b"]
    assert known.most_like(STEP.flatten()) == ["a"]
    assert known.most_like(STEP + 100) == []


@pytest.mark.parametrize(
    ("now", "net", "passed"),
    [(4.0, math.inf, False), (5.0, math.inf, True), (6.0, math.inf, True), (4.0, -1.0, True)],
)
def test_a_deadline_passes_on_its_clock_or_by_the_net(now, net, passed):
    """The clock may stand still, and the net never does."""
    deadline = Deadline(5.0, lambda: now, net)
    assert deadline.passed is passed
    if passed:
        with pytest.raises(TooLate):
            list(deadline.each([1]))
    else:
        assert list(deadline.each([1, 2])) == [1, 2]


def test_a_deadline_is_counted_from_now():
    """Both its clock and the net are."""
    deadline = Deadline.after(3.0, lambda: 10.0, 3600.0)
    assert deadline.at == 13.0
    assert not deadline.passed
    assert Deadline.after(3.0, lambda: 10.0, -1.0).passed


def test_a_deadline_divides_the_time_left_evenly():
    """Three exercises share 20 seconds; the last one gets all that the others left."""
    now = 10.0
    deadline = Deadline.after(20.0, lambda: now)
    assert deadline.part(3).left == pytest.approx(20 / 3)
    now = 26.0
    assert deadline.part(2).left == pytest.approx(2.0)
    assert deadline.part(1).left == pytest.approx(4.0)
    assert NEVER.part(2).left == math.inf
    now = 31.0
    assert deadline.part(2).passed


def test_a_call_that_still_runs_is_told_with_its_line():
    """Seconds are rounded; below one, to a tenth."""
    line = Line("a.py", 3, "while x:")
    said = "after {} s still running a.py:3{}"
    assert still_running(9.6, line, False) == said.format(10, "")
    assert still_running(1.0, line, False) == said.format(1, "")
    assert still_running(0.46, line, True) == said.format(0.5, ", as before")
    source, advice = what_runs(line)
    assert source == "    while x:"
    assert advice.startswith("Does it end at all?")
