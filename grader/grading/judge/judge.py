"""The judge: runs the tests on one submission after another, and reaches verdicts."""

from __future__ import annotations

import functools
import gc
import time
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import replace

from grader.core.names import CPU
from grader.core.processes import is_of_memory, machine_has
from grader.core.verdict import Status, Verdict
from grader.core.wire.calls import Answer, Call
from grader.grading.judge.carry_forward import CarriedPoints, CarryForward
from grader.grading.judge.deductions import gated
from grader.grading.judge.variants import Variants
from grader.testing.cases import Case, fresh_case
from grader.testing.handles.bench import Bench
from grader.testing.handles.handle import BrokenReference
from grader.testing.outcome import Plainly
from grader.testing.outcome_cache import AnsweredCall, Ask, CallReplay, OutcomeCache
from grader.testing.suite import Ended, Suite, Test
from grader.worker.performing import perform

_MUCH = 8 << 20
# Bytes of the answers to all failed tests of a submission.
_MOST_KEPT = 16 << 20
# Honest answers take less than a second in all.
_SECONDS_TO_CARRY = 5.0


class Judge:
    """The judge of one submission after another, by the tests of an open suite.

    Cases are drawn once and kept: every submission of a batch gets the same inputs. Inputs are put
    on `device` for a call of a submission's function. A failed test still makes its other calls
    unless `stops_at_failures`, which is for functions of the assignment's author alone. `memory` is
    the bound on the bytes by which this process may grow, or 0 if it has none.
    """

    def __init__(
        self,
        suite: Suite,
        seed: int,
        device: str = CPU,
        stops_at_failures: bool = False,
        memory: int = 0,
    ) -> None:
        self._suite = suite
        self._stops_at_failures = stops_at_failures
        self._memory = memory
        # Every submission gets the same inputs.
        self._case: Callable[[str], Case] = functools.cache(functools.partial(fresh_case, seed))
        self._cache = OutcomeCache[Verdict]()
        self._replay: CallReplay | None = None
        # The calls and answers of the last submission's failed tests.
        self._failed: dict[str, Sequence[AnsweredCall]] = {}
        self._charge: Callable[[float], None] = lambda _: None
        self._variants = Variants(suite, seed, device, self._case)
        self._bench = Bench(
            suite.contract, self._ask, suite.references, self._case, seed, Plainly(), device=device
        )

    def grade(
        self,
        ask: Ask,
        exercises: Container[str] | None = None,
        charge: Callable[[float], None] = lambda _: None,
    ) -> Iterator[Verdict]:
        """Yields the verdict of every test (of `exercises`) on a submission, as each is reached.

        `ask` returns the submission's answer to a call, and raises StudentFault if there is none.

        `charge` gets the processor seconds that the judge spends on the answers to each test;
        functions of the assignment's author have no limits.
        """
        self._failed.clear()
        self._charge = charge
        yield from gated(
            self._examine(test, ask)
            for test in self._suite.tests.values()
            if exercises is None or test.exercise in exercises
        )

    def carried(self, verdicts: Sequence[Verdict], ask: Ask) -> dict[str, CarriedPoints]:
        """Returns, by exercise, the roots at which the last submission's mistakes are deducted.

        Nothing more is found once the answers took too long to examine.
        """
        end = self._variants.seconds + _SECONDS_TO_CARRY

        def asked(test: str) -> Sequence[AnsweredCall]:
            if self._variants.seconds > end:
                return ()
            if test not in self._failed:
                self._examine(self._suite.tests[test], ask)
            return self._failed.get(test, ())

        foundations = self._suite.foundations
        return CarryForward(self._variants, foundations, verdicts, asked, ask).found()

    def _examine(self, test: Test, ask: Ask) -> Verdict:
        """Returns the verdict on a test: remembered for the same answers, or reached."""
        started = time.monotonic()
        asked, verdict = self._cache.follow(test.id, ask)
        if verdict is None:
            self._replay = CallReplay(ask, asked)
            verdict, is_by_the_answers = self._reached(test, ask)
            if verdict.status is not Status.NOT_GRADED and is_by_the_answers:
                self._cache.learn(test.id, self._replay.asked, verdict)
            asked, self._replay = self._replay.asked, None
        if verdict.status is Status.FAILED:
            if not self._stops_at_failures:
                self._ask_the_rest(test, ask, asked, verdict)
            if _size((*self._failed.values(), asked)) <= _MOST_KEPT:
                self._failed[test.id] = asked
        if _size([asked]) > _MUCH:
            # Exceptions and their tracebacks form cycles, which keep the answers in memory.
            del asked
            gc.collect()
        return verdict._replace(duration_s=round(time.monotonic() - started, 6))

    def _reached(self, test: Test, ask: Ask) -> tuple[Verdict, bool]:
        """Returns a test's verdict, and whether it follows from the answers alone.

        Raises:
            MemoryError: if there is no memory for the answers, even without remembered ones.
        """
        ended = self._suite.run(test.id, self._bench)
        self._charge(ended.observed.seconds)
        had_room = not is_of_memory(ended.raised)
        if not had_room and self._replay is not None:
            # Answers of earlier submissions may fill the memory: forget them, and try again.
            self._cache, asked = OutcomeCache[Verdict](), self._replay.asked
            del ended
            gc.collect()
            self._replay = CallReplay(ask, asked)
            ended = self._suite.run(test.id, self._bench)
            self._charge(ended.observed.seconds)
        if is_of_memory(ended.raised) and not machine_has(self._memory):
            raise MemoryError from ended.raised
        if not test.is_outcome(ended.raised) and self._is_passed_by_the_reference(test):
            # The test works with right answers: the submission's answers broke it.
            ended = Ended(AssertionError("the answer cannot be compared"), ended.observed)
        return test.ended(ended.raised, ended.observed), had_room

    def _ask_the_rest(
        self, test: Test, ask: Ask, asked: Sequence[AnsweredCall], reached: Verdict
    ) -> None:
        """Makes the remaining calls of a failed test, as if nothing had failed.

        Otherwise the next call would reveal to a submission that its last answer was wrong. The
        same answers lead to the same calls, which are remembered with the verdict `reached`.
        """
        past_failure = f"{test.id} past its failure"
        rest, verdict = self._cache.follow(past_failure, ask, asked)
        if verdict is not None:
            return
        self._replay = CallReplay(ask, max(asked, rest, key=len))
        bench = replace(self._bench, case_of=lambda test_id: self._case(test_id).branch())
        ended = self._suite.run_on(test.id, bench)
        self._charge(ended.observed.seconds)
        self._cache.learn(past_failure, self._replay.asked, reached)
        self._replay = None

    def _is_passed_by_the_reference(self, test: Test) -> bool:
        """Returns whether a broken test passes when the reference answers it."""
        asked, self._replay = self._replay, CallReplay(self._ask_the_reference, ())
        try:
            return self._suite.run(test.id, self._bench).raised is None
        finally:
            self._replay = asked

    def _ask_the_reference(self, call: Call) -> Answer:
        references = self._suite.references
        function = references[call.adapter or next(iter(references))]
        return perform(function, call, self._suite.assignment.root, references)

    def _ask(self, call: Call) -> Answer:
        if self._replay is None:
            raise BrokenReference("a test asked for a submission while none was being graded")
        return self._replay.ask(call)


def _size(tests: Iterable[Sequence[AnsweredCall]]) -> int:
    """Returns roughly how many bytes the answers to tests take."""
    return sum(one.answer.size for asked in tests for one in asked)
