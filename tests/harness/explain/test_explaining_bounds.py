"""Explaining is never slow: comparisons are counted, and long work checks a clock."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch

from grader.core.verdict import Aspect
from grader.core.wire.calls import Answer, Call, Record
from grader.explain.deadline import Deadline, TooLate
from grader.explain.layouts import RESULT, KnownSteps, Likeness, Steps
from grader.explain.mistakes.diagnosis import diagnose
from grader.explain.mistakes.mistakes import KnownMistakes
from grader.explain.rewriting.generation import edits_of
from grader.explain.rewriting.program.vocabulary import Nature
from grader.explain.step_comparison import compare_steps, steps_seen
from grader.testing.outcome import Observation

pytestmark = pytest.mark.unit


def shuffled(tensor: torch.Tensor) -> torch.Tensor:
    """Returns the same values in another order, in the same shape."""
    return tensor.flatten()[torch.randperm(tensor.numel())].view(tensor.shape)


@pytest.fixture
def catalogue() -> KnownMistakes:
    """The catalogue of a course with 50 equal exercises: double, then add one."""

    def steps(_function: object, arguments: Mapping[str, torch.Tensor]) -> Steps:
        return {"doubled": [2 * arguments["x"]]}

    references = {f"run_{number}": lambda x: 2 * x + 1 for number in range(50)}
    return KnownMistakes(references, named_steps=steps)


def wrong_answers_of(*exercises: str) -> dict[str, list[Observation]]:
    """Returns two wrong answers for each exercise."""
    call = Call("", {"x": torch.arange(1.0, 4.0)})
    return {
        name: [
            Observation(test, 0, Aspect.VALUES, replace(call, adapter=name), torch.zeros(3))
            for test in (f"test {name}", f"other test {name}")
        ]
        for name in exercises
    }


def failed_tests(seen: Mapping[str, Sequence[Observation]]) -> set[str]:
    return {one.test for answers in seen.values() for one in answers}


class Submission:
    """A submission that doubles rightly and then goes wrong; it keeps a list of its calls."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def ask(self, call: Call) -> Answer:
        """Returns the answer with the steps computed before it."""
        self.asked.append(call.adapter)
        return Answer(torch.zeros(3), records=(Record(torch.tensor([2.0, 4.0, 6.0]), ()),))


def test_many_shuffled_records_are_compared_quickly():
    """Records with a step's values in another order must not cost a search over permutations."""
    torch.manual_seed(3)
    step = torch.randn(2, 3, 4, 5, 6, dtype=torch.float64)
    known = KnownSteps({f"step {number}": [step, step.transpose(0, 1)] for number in range(9)})
    records = [shuffled(step.float()) for _ in range(100)]
    started = time.process_time()
    assert not any(known.likeness(record) for record in records)
    assert time.process_time() - started < 10


def test_only_a_few_equal_slices_of_a_step_are_compared():
    """A step may be equal for every head; only a few of its slices are compared."""
    step = torch.randn(5, 6, dtype=torch.float64).expand(4, 4, 4, 5, 6)
    known = KnownSteps({"same": [step]})
    records = [shuffled(step[0, 0, 0].float()) for _ in range(100)]
    started = time.process_time()
    assert not any(known.likeness(record) for record in records)
    assert time.process_time() - started < 10
    assert known.likeness(step[0, 0, 0].float().T) == {}


@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (2, 6, 3), (5, 3), (24,)])
def test_every_layout_of_a_step_is_recognised(shape):
    """The quick check of a few values rules out no right layout."""
    torch.manual_seed(4)
    step = torch.randn(*shape, dtype=torch.float64)
    known = KnownSteps({"it": [step]})
    assert known.likeness(step.float()) == {"it": Likeness.SAME}
    assert known.likeness(step.float().unsqueeze(1)) == {"it": Likeness.SAME}
    backwards = tuple(reversed(range(step.dim())))
    turned = step.permute(backwards).contiguous().float()
    if step.dim() > 1:
        assert known.likeness(turned) == {"it": Likeness.PERMUTED}
        assert known.likeness(turned.flatten()) == {"it": Likeness.MERGED}


def test_one_call_is_repeated_for_each_failed_exercise(catalogue):
    """However many tests fail, the steps are shown only with the test whose call was repeated."""
    submission, seen = Submission(), wrong_answers_of("run_0")
    (followed,) = compare_steps(catalogue, submission.ask, seen, failed_tests(seen)).values()
    assert submission.asked == ["run_0"]
    said = [followed.in_words(one.test) for one in seen["run_0"]]
    assert said == ["Right so far: doubled. The result is wrong.", ""]


def test_only_the_first_failed_exercises_are_compared_step_by_step(catalogue):
    """The first exercises are followed, because later ones build on them."""
    submission, seen = Submission(), wrong_answers_of(*(f"run_{number}" for number in range(50)))
    followed = compare_steps(catalogue, submission.ask, seen, failed_tests(seen))
    assert [*followed] == submission.asked == list(seen)[: len(followed)]
    assert 1 < len(followed) < 10


def test_no_call_is_made_after_the_deadline(catalogue):
    """A late explainer may leave out words, but makes no further call."""
    submission, seen = Submission(), wrong_answers_of("run_0", "run_1")
    over = Deadline.after(0)
    assert compare_steps(catalogue, submission.ask, seen, failed_tests(seen), over) == {}
    assert diagnose(catalogue, seen, over) == {}
    assert submission.asked == []


def test_steps_found_before_the_deadline_are_kept(catalogue):
    """The first exercise is explained though the second takes too long."""
    submission, seen = Submission(), wrong_answers_of("run_0", "run_1")
    deadline = Deadline.after(3600)

    def ask(call: Call) -> Answer:
        if call.adapter == "run_1":
            object.__setattr__(deadline, "at", 0.0)
        return submission.ask(call)

    followed = compare_steps(catalogue, ask, seen, failed_tests(seen), deadline)
    assert submission.asked == ["run_0", "run_1"]
    assert set(followed) == {"run_0"}


def test_the_deadline_is_checked_between_records():
    """One call alone may produce two thousand records."""
    records = [Record(torch.randn(3), ())] * 5
    with pytest.raises(TooLate):
        steps_seen(records, {RESULT: [torch.randn(3)]}, Deadline.after(0))
    assert steps_seen(records, {RESULT: [torch.randn(3)]}) == ()


class Counting(dict[int, dict[str, Nature]]):
    """The values that variables held, by line, and how often a line was read."""

    reads = 0

    def get(self, key: int, default: Any = None) -> Any:
        self.reads += 1
        return super().get(key, default)


def test_what_variables_held_is_read_once_for_each_line():
    """A line may have thousands of lambdas, and a worker may name thousands of variables in it."""
    observed = Counting({2: {"x": Nature.TENSOR}})
    assert edits_of(
        f"def f(x):\n    y = [{'lambda: 0, ' * 100}]\n    return x * 2\n", {3}, observed=observed
    )
    assert observed.reads < 10
