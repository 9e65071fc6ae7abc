"""Trials of edits and their outcomes: both cross, and a forged outcome is refused."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from grader.core.wire.calls import Call
from grader.core.wire.frames import decode, encode, received
from grader.core.wire.records import BadFrame, written
from grader.core.wire.scripts import Doing, Step
from grader.core.wire.trials import (
    KINDS,
    MAX_PASSED,
    MAX_SEEN,
    Outcomes,
    Passed,
    Seen,
    TextChange,
    Trials,
    decode_outcomes,
    encode_outcomes,
    encode_trials,
    trials_in,
)

pytestmark = pytest.mark.unit

STEPS = (Step(0, Doing.READ, "grad"),)
CALLS = [
    Call("run_x", {"n": 3}, seed=4),
    Call("run_y", {}, before=STEPS),
    Call("run_z", {}, then=STEPS),
]
EDITS = [{"a.py": [TextChange(1, 2, "+"), TextChange(5, 6, "-")], "b.py": []}, {}]
TRIALS = Trials(CALLS, 1, EDITS, 2.5, follow=2, stays=True)


def test_trials_arrive_as_they_were_asked_for() -> None:
    """Calls cross with their steps, and edits with their files."""
    arrived = trials_in(*decode(received(encode_trials(TRIALS)), trusted=True))
    assert arrived.calls == CALLS
    assert arrived.edits == EDITS
    assert (arrived.to_change, arrived.seconds, arrived.follow) == (1, 2.5, 2)
    assert arrived.stays


def test_one_tensor_in_two_arguments_stays_one_tensor_in_trials() -> None:
    """Two calls share none, because an edited program may write into its inputs."""
    x = torch.ones(2)
    calls = [Call("run_x", {"key": x, "value": x})] * 2
    trials = Trials(calls, 1, [{}], 2.5)
    first, second = trials_in(*decode(received(encode_trials(trials)), trusted=True)).calls
    assert first.arguments["key"] is first.arguments["value"]
    assert second.arguments["key"] is not first.arguments["key"]


def outcomes() -> Outcomes:
    """Returns outcomes of two edits, of which two answers are equal."""
    found = Outcomes(tried=2, passed=(Passed("a.py", (1, 2)),))
    found.add(0, 0, torch.tensor([1.0, 2.0]))
    found.add(1, 2, torch.tensor([2.0, 1.0]).flip(0))
    found.add(1, 1, torch.tensor([1.0, 3.0]))
    found.add(0, 1, torch.tensor([[1.0, 2.0]]))
    found.add(0, 2, torch.tensor([1.0, 2.0], dtype=torch.float64))
    return found


def test_equal_answers_are_kept_once() -> None:
    """Answers of another dtype or shape are others."""
    found = outcomes()
    assert len(found.answers) == 4
    assert found.of(0, 0) is found.of(1, 2)
    assert found.of(1, 1).tolist() == [1.0, 3.0]
    assert found.of(0, 1).shape == (1, 2)
    assert found.of(1, 0) is None


def test_outcomes_arrive_as_they_were() -> None:
    """Every answer is found under its edit and its call."""
    found = outcomes()
    plain = Trials(CALLS, 1, EDITS, 1.0)
    arrived = decode_outcomes(received(encode_outcomes(found)), plain)
    assert arrived.given == found.given
    assert (arrived.tried, arrived.passed) == (2, found.passed)
    assert all(map(torch.equal, arrived.answers, found.answers))


ANSWER = torch.ones(1)
LINES = written([Passed("a.py", (*range(MAX_PASSED),))])
ONE_MORE = written([Passed("b.py", (2,), (Seen(1, "y", 0),))])
UNKNOWN = written([Passed("a.py", (1,), (Seen(1, "x", len(KINDS)),))])
SEEN = written([Passed("a.py", (1,), (Seen(1, "x", len(KINDS) - 1),) * MAX_SEEN)])
FINE: dict[str, Any] = {"tried": 2, "given": [], "passed": []}


@pytest.mark.parametrize(
    ("changed", "many", "said"),
    [
        ({"tried": 3}, 0, "more was tried"),
        ({"tried": -1}, 0, "not below"),
        ({}, 7, "more answers"),
        ({"passed": [*LINES, *written([Passed("b.py", ())])]}, 0, "more lines"),
        (
            {"passed": [*SEEN, *ONE_MORE]},
            0,
            "more variables",
        ),
        ({"passed": UNKNOWN}, 0, "not below"),
        ({"given": [[2, 0, 0]]}, 1, "belongs to no question"),
        ({"given": [[0, 3, 0]]}, 1, "belongs to no question"),
        ({"given": [[0, 0, 1]]}, 1, "belongs to no question"),
        ({"given": [[0, 0]]}, 1, "not of the kind"),
        ({"given": None}, 1, "not the list"),
        ({"passed": [["a.py", [1], []]]}, 0, "not the dict"),
    ],
)
def test_outcomes_that_nobody_asked_for_are_refused(
    changed: dict[str, Any], many: int, said: str
) -> None:
    """A worker may invent them: two edits of three calls have at most six answers."""
    plain = Trials(CALLS, 1, EDITS, 1.0)
    frame = encode(FINE | changed, {str(number): ANSWER for number in range(many)})
    with pytest.raises(BadFrame, match=said):
        decode_outcomes(received(frame), plain)


def test_outcomes_at_their_bounds_are_taken() -> None:
    """An answer that is not a tensor is not."""
    plain = Trials(CALLS, 1, EDITS, 1.0)
    most = FINE | {"given": [[1, 2, 5]], "passed": LINES}
    values: dict[str, Any] = {str(number): ANSWER for number in range(6)}
    found = decode_outcomes(received(encode(most, values)), plain)
    assert found.given == {(1, 2): 5}
    assert len(found.passed[0].lines) == MAX_PASSED
    seen = encode(FINE | {"passed": SEEN}, {})
    assert len(decode_outcomes(received(seen), plain).passed[0].seen) == MAX_SEEN
    with pytest.raises(BadFrame, match="not a tensor"):
        decode_outcomes(received(encode(most, values | {"0": 3})), plain)
