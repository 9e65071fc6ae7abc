"""Scripts as tests write them: steps and calls, history, two processes."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from grader.core.wire.calls import Call
from grader.core.wire.scripts import Doing, Step
from grader.core.wire.values import Local
from grader.testing.handles.scripts import (
    Script,
    TwoProcesses,
    call_of,
    in_two_processes,
)
from grader.worker.marshalling import ANEW

pytestmark = pytest.mark.unit

ASK = Step(0, Doing.ASK, "run_a", (), {"x": 1})
OTHER = Step(0, Doing.ASK, "run_b", (), {"y": 2})
MAKE = Step(0, Doing.MAKE, "file", ("a.txt", b"x"))
READ = Step(1, Doing.READ, "size")


@pytest.mark.parametrize(
    ("steps", "name", "before", "then"),
    [
        ([MAKE, ASK, READ], "run_a", [MAKE], [READ]),
        ([ASK, OTHER, READ], "run_a", [], [OTHER, READ]),
        ([OTHER, ASK, OTHER], "run_a", [OTHER], [OTHER]),
        ([ASK, MAKE, ASK], "run_a", [ASK, MAKE], []),
        ([OTHER, MAKE], "run_b", [], [MAKE]),
        ([MAKE, READ], "", [MAKE, READ], []),
    ],
)
def test_a_script_is_a_call_of_its_last_step_of_the_exercise(steps, name, before, then):
    """Without one, the last call of another adapter; or steps alone."""
    call = call_of(steps, "run_a")
    assert (call.adapter, [*call.before], [*call.then]) == (name, before, then)
    assert call.arguments == {"run_a": {"x": 1}, "run_b": {"y": 2}, "": {}}[name]


def test_a_joined_script_refers_to_its_steps_by_their_new_numbers():
    """A script that is joined to a joined one is found too."""
    first, second, third = (Script(SimpleNamespace()) for _ in range(3))
    first.take(MAKE)
    thing = second.take(MAKE)
    second.came.add(0)
    second.take(Step(0, Doing.CALL, "put", ([Local(0, "a file")],), {"x": Local(0, "a file")}))
    third.take(MAKE)
    last = third.take(READ)
    third.join(second)
    first.join(third)
    assert (thing.script, thing.place) == (first, 3)
    assert (last.script, last.place) == (first, 2)
    put = first.steps[4]
    assert (put.on, put.positional, put.keywords) == (
        3, ([Local(3, "a file")],), {"x": Local(3, "a file")},
    )  # fmt: skip
    assert first.steps[2].on == 2
    assert first.came == {3}
    assert (second.steps, third.steps, third.came) == ([], [], set())


# --- Two processes ------------------------------------------------------------------------------

AGAIN = Step(0, Doing.MAKE, ANEW, (Local(0, "a path"), "a.txt"))


def test_a_script_is_split_where_its_file_is_handed_on():
    """Steps of the second half refer to the file as their first step."""
    rest = Step(2, Doing.CALL, "put", (Local(2, "a path"),))
    call = Call("run_a", {"x": 1}, seed=3, before=(MAKE,), then=(AGAIN, rest))
    halves = in_two_processes(call)
    assert halves is not None
    first = halves.first
    assert (first.adapter, first.before, first.seed) == ("run_a", (MAKE,), 3)
    assert first.then == (Step(0, Doing.MAKE, "content", (Local(0, "a path"),)),)
    second = halves.second(b"text")
    made = Step(0, Doing.MAKE, "file", ("a.txt", b"text"))
    # The file was the third step, and is now the first.
    assert (second.adapter, second.before) == ("", (made, SECOND))
    assert halves.second("absent").before[0].positional == ("a.txt", None)
    assert in_two_processes(Call("run_a", {}, before=(MAKE,))) is None


SECOND = Step(0, Doing.CALL, "put", (Local(0, "a path"),))


def test_halves_follow_each_other_only_with_equal_first_steps():
    call = Call("run_a", {})
    own = TwoProcesses(call, [MAKE, AGAIN, READ], 1)
    assert own.follows(TwoProcesses(call, [MAKE, AGAIN], 1))
    assert not own.follows(None)
    assert not own.follows(TwoProcesses(call, [READ, AGAIN], 1))
    assert not own.follows(TwoProcesses(call, [MAKE, MAKE, AGAIN], 2))
    named = Step(0, Doing.MAKE, "file", ("a.txt", b"y"))
    assert not own.follows(TwoProcesses(call, [named, AGAIN], 1))
