"""Calls of one script that cross as the steps each adds, and arrive as whole calls."""

from __future__ import annotations

import itertools

import pytest
import torch

from grader.core.wire.calls import Answer, Call, CallDecoder, CallEncoder, encode_call
from grader.core.wire.frames import received
from grader.core.wire.scripts import Doing, Step
from grader.core.wire.values import Local
from grader.testing.handles.scripts import call_of
from grader.testing.outcome_cache import AnsweredCall, CallReplay

pytestmark = pytest.mark.unit

ASKED = Step(0, Doing.ASK, "get_optimizer", (), {"rate": 0.5})


def loop_steps(steps: int, first: float = 1.0) -> list[Step]:
    """Returns the steps of a test's loop that reads after each step."""
    made = Step(0, Doing.MAKE, "parameter", (torch.zeros(2), None, True))
    taken = [made, ASKED, Step(1, Doing.CALL, "", (Local(0),))]
    for number in range(steps):
        gradient = torch.full((2,), first + number)
        taken += [Step(0, Doing.WRITE, "grad", (gradient,)), Step(2, Doing.CALL, "step")]
        taken.append(Step(0, Doing.READ, ""))
    return taken


def calls_of(steps: list[Step]) -> list[Call]:
    """Returns the calls that ask for the result of each read."""
    reads = [place for place, step in enumerate(steps, 1) if step.doing is Doing.READ]
    return [call_of(steps[:place], "get_optimizer") for place in reads]


def as_received(call: Call, encoder: CallEncoder, decoder: CallDecoder) -> Call:
    """Returns a call as it arrives."""
    return decoder.call(received(encoder.frame(call)))


def test_calls_arrive_as_they_were_sent() -> None:
    """This holds for one script, for two scripts in turns, and for calls outside any script."""
    one, other = calls_of(loop_steps(4)), calls_of(loop_steps(4, first=9.0))
    alone = [Call("run_double", {"x": torch.ones(3)}, seed=3)] * 2
    encoder, decoder = CallEncoder(), CallDecoder()
    for call in [*one, *itertools.chain(*zip(one, other, strict=True)), *alone, *other]:
        assert encode_call(as_received(call, encoder, decoder)) == encode_call(call)


def test_each_step_of_a_script_is_sent_once() -> None:
    """Twice as many steps are twice as many bytes, not four times as many."""

    def size(steps: int) -> int:
        encoder = CallEncoder()
        return sum(len(encoder.frame(call)) for call in calls_of(loop_steps(steps)))

    assert size(200) < 2.1 * size(100)


def test_answers_are_not_reused_after_two_scripts_differ() -> None:
    """Scripts that differ in one early step may end alike, but their answers are not shared."""
    known = [AnsweredCall(call, Answer(1.0, digest=b"1")) for call in calls_of(loop_steps(4))]
    steps = loop_steps(4)
    steps[6] = Step(0, Doing.WRITE, "grad", (torch.full((2,), 77.0),))
    asked: list[Call] = []

    def ask(call: Call) -> Answer:
        asked.append(call)
        return Answer(2.0, digest=b"2")

    replay = CallReplay(ask, known)
    given = [replay.ask(call).value for call in calls_of(steps)]
    assert given == [1.0, 2.0, 2.0, 2.0]
    assert len(asked) == 3
