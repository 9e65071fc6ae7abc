"""Workers that somebody else kills or stops: this costs their submission nothing."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from grader.core.assignment import find_assignment
from grader.core.verdict import Status
from grader.core.wire.calls import Call
from grader.sandbox.session import Session, SessionLimits
from grader.testing.outcome import StudentFault
from tests.harness.conftest import write_files
from tests.harness.prepared_submissions import prepared
from tests.harness.waiting import until

pytestmark = pytest.mark.process

SLOW = """
import os, time

time.sleep(1)


def run_slow():
    time.sleep(1)
    return 6


def run_kill():
    os.kill(os.getpid(), 9)
"""
LIMITS = SessionLimits(60.0, 3.0, 60.0, 1 << 30)


@pytest.fixture
def slow(tiny: Path, tmp_path: Path) -> Iterator[Session]:
    """A submission that takes a second for its import and for each call."""
    folder = write_files(tmp_path / "alice", {"adapters.py": SLOW})
    with prepared(find_assignment(tiny), folder, LIMITS) as submission:
        yield submission


def worker_of(session: Session) -> int:
    """Returns the process id of the session's worker."""
    return session._worker._pid


def fork_server_of(session: Session) -> int:
    """Returns the process id of the session's fork server."""
    return session._server()._pid


@contextlib.contextmanager
def killed_soon(victim: Callable[[], int]) -> Iterator[None]:
    """Kills a process while the context's call is at work."""

    def kill() -> None:
        time.sleep(0.4)
        os.kill(victim(), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    yield
    killer.join()


@pytest.mark.parametrize("which", [worker_of, fork_server_of])
def test_a_call_whose_worker_was_killed_is_made_again(slow, which):
    """Linux kills workers first when memory is short. A second loss is the submission's."""
    assert slow.open() is None
    with killed_soon(lambda: which(slow)):
        assert slow.ask(Call("run_slow", {})).value == 6
    with pytest.raises(StudentFault, match="SIGKILL") as fault:
        slow.ask(Call("run_kill", {}))
    assert fault.value.status is Status.CRASHED


def test_an_import_whose_worker_was_killed_is_made_again(slow):
    """Otherwise no exercise of the submission would have points."""
    slow._server().wait_until_ready()
    spawned = []
    spawn = slow._server().spawn

    def noted():
        spawned.append(spawn())
        return spawned[-1]

    slow._server().spawn = noted
    with killed_soon(lambda: until(lambda: spawned, "a worker is forked")[0].pid):
        assert slow.open() is None
    assert len(spawned) == 2
    assert slow.ask(Call("run_slow", {})).value == 6


def test_the_time_in_which_a_judge_is_stopped_with_its_worker_does_not_count(slow):
    """The clock goes on while a container is paused. The call has three seconds."""
    assert slow.open() is None
    judge = os.fork()
    if judge == 0:
        code = 1
        try:
            code = int(slow.ask(Call("run_slow", {})).value != 6)
        finally:
            os._exit(code)
    both = judge, worker_of(slow)
    time.sleep(0.4)
    for pid in both:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(4)
    for pid in both:
        os.kill(pid, signal.SIGCONT)
    assert os.waitstatus_to_exitcode(os.waitpid(judge, 0)[1]) == 0
