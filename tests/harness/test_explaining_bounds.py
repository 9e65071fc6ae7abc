"""Explaining is never slow: what is looked at is counted, and long work looks at a clock."""

from __future__ import annotations

import time

import pytest
import torch
from grader.explaining.lines.blame import proof_of
from grader.explaining.lines.layouts import RESULT, KnownSteps, Likeness
from grader.explaining.lines.locating import locate

from grader.explaining.deadline import NEVER, Deadline, TooLate
from grader.explaining.naming.diagnosis import diagnose
from grader.explaining.naming.mistakes import KnownMistakes
from grader.testing.observation import Observation
from grader.verdict import Aspect
from grader.wire.calls import Answer, Call
from grader.wire.records import Line, Record


def shuffled(tensor: torch.Tensor) -> torch.Tensor:
    """The same numbers in another order, in the same shape."""
    return tensor.flatten()[torch.randperm(tensor.numel())].view(tensor.shape)


def observation(test: str, value: torch.Tensor) -> Observation:
    return Observation(test, 0, Aspect.VALUES, Call("run_it", {"x": torch.arange(1.0, 4.0)}), value)


@pytest.fixture
def catalogue() -> KnownMistakes:
    return KnownMistakes({"run_it": lambda x: 2 * x})


def test_numbers_that_are_met_again_and_again_are_compared_in_no_time():
    """Two thousand records of a step's numbers, none of them its layout: a day of permutations."""
    torch.manual_seed(3)
    step = torch.randn(2, 3, 4, 5, 6, dtype=torch.float64)
    known = KnownSteps({f"step {number}": [step, step.transpose(0, 1)] for number in range(9)})
    records = [shuffled(step.float()) for _ in range(300)]
    started = time.process_time()
    assert not any(known.likeness(record) for record in records)
    assert time.process_time() - started < 10


def test_many_equal_pieces_are_not_all_compared():
    """A step that says the same for every head: of its slices a few are looked at."""
    step = torch.randn(5, 6, dtype=torch.float64).expand(4, 4, 4, 5, 6)
    known = KnownSteps({"same": [step]})
    records = [shuffled(step[0, 0, 0].float()) for _ in range(300)]
    started = time.process_time()
    assert not any(known.likeness(record) for record in records)
    assert time.process_time() - started < 10
    assert known.likeness(step[0, 0, 0].float().T) == {"same": Likeness.PERMUTED}


@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (2, 2, 2, 2, 3), (3, 3), (24,)])
def test_every_layout_is_still_known(shape):
    """Whatever is ruled out by a few numbers is none."""
    torch.manual_seed(4)
    step = torch.randn(*shape, dtype=torch.float64)
    known = KnownSteps({"it": [step]})
    assert known.likeness(step.float()) == {"it": Likeness.EXACT}
    assert known.likeness(step.float().unsqueeze(1)) == {"it": Likeness.SAME}
    backwards = tuple(reversed(range(step.dim())))
    turned = step.permute(backwards).contiguous().float()
    if step.dim() > 1:
        assert known.likeness(turned) == {"it": Likeness.PERMUTED}
        assert known.likeness(turned.flatten()) == {"it": Likeness.MERGED}


def test_calls_that_tell_nothing_are_counted_too(catalogue):
    """Else a submission that prints no line is called again for each of its tests."""
    calls: list[Call] = []

    def ask(call: Call) -> Answer:
        calls.append(call)
        return Answer(torch.zeros(3), records=(Record(torch.tensor([2.0, 4.0, 6.0]), ()),))

    wrong = [observation(f"test {number}", torch.zeros(3)) for number in range(50)]
    tests = {"run_it": [one.test for one in wrong]}
    assert locate(catalogue, ask, {"run_it": wrong}, {}, tests) == {}
    assert 0 < len(calls) < 12


def test_after_the_deadline_nobody_is_asked(catalogue):
    """Words may be missing, and nothing else."""

    def ask(_call: Call) -> Answer:
        raise AssertionError("it was asked")

    wrong = [observation(f"test {number}", torch.zeros(3)) for number in range(5)]
    failed = {"run_it": [one.test for one in wrong]}
    over = Deadline.after(0)
    assert locate(catalogue, ask, {"run_it": wrong}, {}, failed, over) == {}
    assert diagnose(catalogue, {"run_it": wrong}, over) == {}


def test_what_was_found_before_the_deadline_is_said(catalogue):
    """The first exercise is explained though the second takes for ever."""
    line = Line("adapters.py", 7, "return x", "run_it")
    wrong = [observation("test 1", torch.zeros(3)), observation("test 2", torch.zeros(3))]
    seen = {"run_it": wrong[:1], "run_other": wrong[1:]}
    failed = {"run_it": ["test 1"], "run_other": ["test 2"]}
    deadline = Deadline.after(3600)
    asked = 0

    def ask(_call: Call) -> Answer:
        nonlocal asked
        asked += 1
        if asked == 2:
            object.__setattr__(deadline, "at", 0.0)
        return Answer(torch.zeros(3), records=(Record(torch.tensor([1.0, 5.0, 7.0]), (line,)),))

    located = locate(catalogue, ask, seen, {}, failed, deadline)
    assert located["test 1"].step == RESULT
    assert located["test 1"].line == line
    assert set(located) == {"test 1"}


def test_a_clock_is_looked_at_between_two_records():
    """One call alone may leave two thousand."""
    records = [Record(torch.randn(3), ())] * 5
    with pytest.raises(TooLate):
        proof_of(records, {RESULT: [torch.randn(3)]}, Deadline.after(0))
    assert proof_of(records, {RESULT: [torch.randn(3)]}, NEVER) == []
