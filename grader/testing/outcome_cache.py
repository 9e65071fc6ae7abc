"""Remembered outcomes: a test with the same answers has the same outcome."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from grader.core.verdict import Status
from grader.core.wire.calls import Answer, Call, CallEncoder, Reply, encode_call
from grader.core.wire.records import BadFrame
from grader.testing.outcome import StudentFault

Outcome = TypeVar("Outcome")
Ask = Callable[[Call], Reply]
Digests = tuple[bytes, ...]
# Bytes of answers to one test; honest submissions need thousands.
MOST_HELD = 32 << 20
# Bytes of answers behind the remembered calls: a call may repeat parts of earlier answers.
_MOST_LEARNED = 64 << 20


@dataclass(frozen=True, slots=True)
class AnsweredCall:
    """A call to a submission with its answer, or with the fault that took the answer's place."""

    call: Call
    answer: Reply | StudentFault


class CallReplay:
    """The calls that one test makes to a submission; some answers may be known in advance.

    `asked` are the calls so far, in order. The sum of their answers' sizes is bounded.
    """

    def __init__(self, ask: Ask, known: Sequence[AnsweredCall]) -> None:
        self._ask = ask
        self._known = deque(known)
        self.asked: list[AnsweredCall] = []
        self._held = 0
        self._expected, self._wanted = CallEncoder(), CallEncoder()

    def ask(self, call: Call) -> Answer:
        """Returns the answer to the test's next call.

        Raises:
            StudentFault: if there is no answer, or the answers are too large together.
        """
        known = self._known.popleft() if self._known else None
        if known is None or not self._is_for(known.call, call):
            self._known.clear()
            known = _answered(call, self._ask)
        self._held += known.answer.size
        if self._held > MOST_HELD:
            said = f"its answers to one test take more than {MOST_HELD >> 20} MB"
            known = AnsweredCall(call, StudentFault(Status.FAILED, said))
        self.asked.append(AnsweredCall(call, known.answer))
        if isinstance(known.answer, StudentFault):
            raise known.answer
        return known.answer.opened()

    def _is_for(self, expected: Call, wanted: Call) -> bool:
        """Returns whether two calls, and those before them, are equal to the last bit."""
        try:
            frames = self._expected.frame(expected), self._wanted.frame(wanted)
        except BadFrame:  # earlier answers make the call too large
            return False
        return expected is wanted or frames[0] == frames[1]


def _answered(call: Call, ask: Ask) -> AnsweredCall:
    """Makes a call, and returns it with its answer or fault."""
    try:
        return AnsweredCall(call, ask(call))
    except StudentFault as fault:
        return AnsweredCall(call, fault)


class OutcomeCache(Generic[Outcome]):
    """Tables that lead from the digests of a test's answers to its next call or its outcome.

    Each test keeps its latest `most` entries; answers without a digest are not remembered. A call
    may repeat parts of earlier answers: after too many bytes of answers, all is forgotten.
    """

    def __init__(self, most: int = 48) -> None:
        self._most = most
        self._learned = 0
        self._known: dict[str, OrderedDict[Digests, Call | Outcome]] = {}

    def follow(
        self, test: str, ask: Ask, made: Sequence[AnsweredCall] = ()
    ) -> tuple[Sequence[AnsweredCall], Outcome | None]:
        """Makes a test's remembered calls; returns them, and the outcome if they lead to one.

        The test's first calls may be `made` already.
        """
        known = self._known.get(test, OrderedDict())
        digests: Digests = ()
        asked: list[AnsweredCall] = []
        answered = iter(made)
        while (step := known.get(digests)) is not None:
            known.move_to_end(digests)
            if not isinstance(step, Call):
                return asked, step
            asked.append(next(answered, None) or _answered(step, ask))
            if (digest := asked[-1].answer.digest) is None:
                break
            digests = (*digests, digest)
        return asked, None

    def learn(self, test: str, asked: Sequence[AnsweredCall], outcome: Outcome) -> None:
        """Remembers the calls that a test made, and where their answers led.

        Leaves out a test with more calls than fit, because its first calls would be dropped. A call
        that is too large to be sent is left out too.
        """
        if len(asked) >= self._most:
            return
        self._learned += sum(one.answer.size for one in asked)
        if self._learned > _MOST_LEARNED:
            self._known.clear()
            self._learned = 0
        known = self._known.setdefault(test, OrderedDict())
        digests: Digests = ()
        for one in asked:
            if digests not in known:
                # A script's frame is large, and quick to encode again: it extends the previous one.
                try:
                    frame = None if one.call.is_script else encode_call(one.call)
                except BadFrame:
                    break
                known[digests] = replace(one.call, frame=frame)
            if one.answer.digest is None:
                break
            digests = (*digests, one.answer.digest)
        else:
            known[digests] = outcome
        while len(known) > self._most:
            known.popitem(last=False)
