"""Tests with a known mistake, in place of the submission or of the reference."""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import torch

from grader.core.verdict import Status
from grader.core.wire.calls import Answer, Call
from grader.core.wire.value_rows import as_tensor
from grader.testing.cases import Case
from grader.testing.comparison import all_within, tolerance_for
from grader.testing.handles.bench import Bench
from grader.testing.handles.handle import call_in_float64
from grader.testing.outcome import Plainly, StudentFault
from grader.testing.outcome_cache import AnsweredCall, Ask, CallReplay
from grader.testing.suite import Suite
from grader.worker.performing import perform

# The latest results of a class's answers are remembered.
_MOST_REMEMBERED = 1 << 14


class Way(NamedTuple):
    """One way of making a mistake (or two) in an exercise: the `number`-th variant there."""

    mistake: str
    exercise: str
    number: int


class Variants:
    """Runs of tests with variants of the references; a whole class shares each outcome.

    The cases are those of the judge: each variant gets the same calls as the submissions. `status`
    returns how a test ends for a submission that makes the mistake in this way. `seconds` is
    the processor time that examining answers took.
    """

    def __init__(
        self, suite: Suite, seed: int, device: str, case_of: Callable[[str], Case]
    ) -> None:
        self.seconds = 0.0
        self._suite = suite
        self._seed = seed
        self._device = device
        self._case_of = case_of
        self._case: Callable[[str, Way], Case] = functools.cache(self._drawn)
        self.status: Callable[[str, Way], Status] = functools.cache(self._ending)
        self._is_consistent: Callable[[str, Way], bool] = functools.cache(self._against_itself)
        self._accepted: OrderedDict[object, bool] = OrderedDict()

    def _ending(self, test: str, way: Way) -> Status:
        bench = self._bench(self._performing(way), self._suite.references, self._case_of)
        raised = self._suite.run(test, bench).raised
        if isinstance(raised, StudentFault):
            return raised.status
        return Status.PASSED if raised is None else Status.FAILED

    def accounts_for(self, test: str, way: Way, asked: Sequence[AnsweredCall], ask: Ask) -> bool:
        """Returns whether the answers with which a test failed are exactly those of the mistake.

        They are if the test passes with the mistake in the reference's place. If the mistake itself
        breaks an assertion of the test, each answer must equal the mistake's. `ask` makes the calls
        of the submission that the test needs beyond `asked`.
        """
        digests = tuple(one.answer.digest for one in asked)
        key = (test, way, digests)
        if None not in digests and key in self._accepted:
            self._accepted.move_to_end(key)
            return self._accepted[key]
        accounted = self._passes_against(test, way, CallReplay(ask, asked).ask) or (
            not self._is_consistent(test, way) and all(self._is_answer(way, one) for one in asked)
        )
        self._accepted[key] = accounted
        if len(self._accepted) > _MOST_REMEMBERED:
            self._accepted.popitem(last=False)
        return accounted

    def _against_itself(self, test: str, way: Way) -> bool:
        return self._passes_against(test, way, self._performing(way))

    def _passes_against(self, test: str, way: Way, ask: Callable[[Call], Answer]) -> bool:
        """Returns whether answers pass a test in which the mistake replaces the reference."""
        references = {**self._suite.references, way.exercise: self._function(way)}
        bench = self._bench(ask, references, lambda test: self._case(test, way))
        ended = self._suite.run(test, bench)
        self.seconds += ended.observed.seconds
        return ended.raised is None

    def _bench(
        self,
        ask: Callable[[Call], Answer],
        references: Mapping[str, Callable[..., Any]],
        case_of: Callable[[str], Case],
    ) -> Bench:
        suite = self._suite
        return Bench(
            suite.contract, ask, references, case_of, self._seed, Plainly(), device=self._device
        )

    def _drawn(self, test: str, _way: Way) -> Case:
        """Returns the inputs that all submissions get; the mistake gives their expected values."""
        drawn = self._case_of(test)
        return Case(drawn.generator, drawn.drawn)

    def _performing(self, way: Way) -> Callable[[Call], Answer]:
        function, root = self._function(way), self._suite.assignment.root
        return lambda call: perform(function, call, root)

    def _function(self, way: Way) -> Callable[..., Any]:
        return self._suite.foundations.variants(way.mistake, way.exercise)[way.number]

    def _is_answer(self, way: Way, asked: AnsweredCall) -> bool:
        """Returns whether an answer is the mistake's, of its dtype and within the tolerance."""
        call = asked.call
        if isinstance(asked.answer, StudentFault) or not (call.is_plain or call.wrt):
            return False
        answer = self._performing(way)
        got, own, exact = asked.answer.opened(), answer(call), answer(call_in_float64(call))
        if own.raised is not None or exact.raised is not None:
            return False
        pairs = [(got.value, exact.value)]
        pairs += [(got.gradients.get(name), exact.gradients.get(name)) for name in call.wrt]
        return as_tensor(got.value).dtype == as_tensor(own.value).dtype and all(
            _same(as_tensor(one), as_tensor(other)) for one, other in pairs
        )


def _same(got: torch.Tensor, exact: torch.Tensor) -> bool:
    return got.shape == exact.shape and all_within(got, exact, tolerance_for(got.dtype))


def tells(asked: AnsweredCall) -> bool:
    """Returns whether there is an answer, more than half of it finite numbers."""
    if isinstance(asked.answer, StudentFault):
        return False
    answer = asked.answer.opened()
    values = [as_tensor(value) for value in (answer.value, *answer.gradients.values())]
    return answer.raised is None and all(
        2 * int(value.isfinite().sum()) > value.numel() for value in values
    )
