"""The order of calls does not depend on the answers, so a submission learns nothing from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch

from grader.authoring.verification import answering
from grader.core.assignment import find_assignment
from grader.core.points import total
from grader.core.wire.calls import Answer, Call
from grader.grading.judge.judge import Judge
from grader.testing.course import load_references
from grader.testing.outcome_cache import Ask
from grader.testing.suite import Suite

pytestmark = pytest.mark.unit

ROOT = Path(__file__).parents[3]
SEED = 5
FEW = ("run_softmax", "run_causal_mask", "run_parameter_count")
Seen = tuple[object, ...]


def visible_parts(call: Call) -> Seen:
    """Returns the parts of a call that are the same in every draw: no drawn number."""
    given = [(name, shape_of(value)) for name, value in call.arguments.items()]
    steps = [step.name for step in (*call.before, *call.then)]
    return (call.adapter, call.device, *given, *steps)


def shape_of(value: object) -> object:
    if isinstance(value, torch.Tensor):
        return (value.dtype, tuple(value.shape))
    return value if isinstance(value, bool) else type(value)


def other_than(value: Any) -> Any:
    """Returns a wrong answer of the same type and shape."""
    if isinstance(value, torch.Tensor):
        return ~value if value.dtype is torch.bool else value + 1
    if isinstance(value, dict):
        return {key: other_than(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return type(value)([other_than(one) for one in value])
    return value + 1 if isinstance(value, int | float) else value


def wrong(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args, **kwargs: other_than(function(*args, **kwargs))


@dataclass
class Recording:
    """Answers with `functions`, and notes each call."""

    functions: Ask
    seen: list[Seen] = field(default_factory=list)

    def __call__(self, call: Call) -> Answer:
        self.seen.append(visible_parts(call))
        return self.functions(call)


@dataclass
class TwoCandidates:
    """Answers with two programs, and knows the order of calls after right answers.

    It changes to the second program once a call is left out, because that reveals a wrong answer.
    """

    first: Ask
    second: Ask
    right_order: Sequence[Seen]
    place: int = 0
    has_changed_over: bool = False

    def __call__(self, call: Call) -> Answer:
        seen = visible_parts(call)
        if seen != self.right_order[self.place]:
            self.has_changed_over = True
            self.place = self.right_order.index(seen, self.place)
        self.place += 1
        return (self.second if self.has_changed_over else self.first)(call)


@dataclass
class Class:
    """One judge, with the calls that submissions see and the points that they earn."""

    judge: Judge

    def seen(self, functions: Ask) -> list[Seen]:
        noting = Recording(functions)
        self.earned(noting)
        return noting.seen

    def earned(self, ask: Ask) -> float:
        return total(verdict.score for verdict in self.judge.grade(ask))


def with_attention_assignment(
    look: Callable[[Class, Ask, Ask], None],
) -> None:
    """Calls `look` with a new class, right functions and wrong functions."""

    def serve(suite: Suite) -> None:
        references = load_references(ROOT)
        spoilt = {name: wrong(function) for name, function in references.items()}
        look(
            Class(Judge(suite, SEED)),
            answering(ROOT, references),
            answering(ROOT, spoilt),
        )

    Suite(find_assignment(ROOT), FEW).open(serve)


def test_wrong_and_right_answers_lead_to_the_same_calls():
    """A test makes all its calls, also those after the assertion that fails."""

    def look(graded: Class, right: Ask, spoilt: Ask) -> None:
        assert graded.seen(spoilt) == graded.seen(right)

    with_attention_assignment(look)


def test_repeated_answers_lead_to_the_same_calls():
    """A judge remembers the outcome of a test for equal answers, but makes all calls again."""

    def look(graded: Class, _right: Ask, spoilt: Ask) -> None:
        first = graded.seen(spoilt)
        assert graded.seen(spoilt) == first

    with_attention_assignment(look)


def test_a_failed_test_does_not_change_the_inputs_of_later_submissions():

    def look(graded: Class, right: Ask, spoilt: Ask) -> None:
        graded.seen(spoilt)
        assert graded.earned(right) == pytest.approx(10.0)

    with_attention_assignment(look)


def test_a_submission_with_a_second_program_earns_no_more():
    """A submission with two programs cannot find out whether the first one was wrong."""

    def look(graded: Class, right: Ask, spoilt: Ask) -> None:
        order = graded.seen(right)
        alone = graded.earned(spoilt)
        both = TwoCandidates(spoilt, right, order)
        assert (graded.earned(both), both.has_changed_over) == (alone, False)

    with_attention_assignment(look)
