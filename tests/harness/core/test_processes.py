"""Processes: they end with their parent, are found running, and keep to a bound on memory."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
from collections.abc import Callable

import pytest

from grader.core.processes import (
    end_with_parent,
    is_alive,
    limit_memory_growth,
    limited_memory_growth,
    machine_has,
    processors,
)

pytestmark = [
    pytest.mark.unit,
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux has these bounds"),
]

MIB = 1 << 20


def exit_code(act: Callable[[], int]) -> int:
    """Returns the exit code of a child process that returns a number."""
    pid = os.fork()
    if pid == 0:
        try:
            os._exit(act())
        finally:
            os._exit(99)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def signal_at_the_end_of_its_parent() -> int:
    """Returns the signal that the kernel sends to this process when its parent ends."""
    told = ctypes.c_int()
    ctypes.CDLL(None).prctl(2, ctypes.byref(told), 0, 0, 0)
    return told.value


@pytest.mark.process
def test_a_process_is_killed_when_its_parent_ends() -> None:
    """A process whose parent ended before the call ends at once."""
    own = os.getpid()

    def with_parent(parent: int | None) -> int:
        end_with_parent(parent)
        return signal_at_the_end_of_its_parent()

    assert exit_code(lambda: with_parent(own)) == signal.SIGKILL
    assert exit_code(lambda: with_parent(None)) == signal.SIGKILL
    assert exit_code(lambda: with_parent(own + 1)) == 1


@pytest.mark.process
def test_a_process_that_ended_is_not_alive() -> None:
    """Nor is one whose parent has not yet asked how it ended."""
    assert is_alive(os.getpid())
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert not is_alive(pid)
    os.waitpid(pid, 0)
    assert not is_alive(pid)


@pytest.mark.process
def test_a_process_keeps_its_bound_on_memory() -> None:
    """An inherited tighter bound stays, and the hard limit is left as it was."""

    def bound_twice() -> int:
        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        limit_memory_growth(32 * MIB)
        first = resource.getrlimit(resource.RLIMIT_DATA)
        limit_memory_growth(1024 * MIB)
        second = resource.getrlimit(resource.RLIMIT_DATA)
        return 0 if first == second and first[1] == hard and 0 < first[0] < 1 << 40 else 1

    assert exit_code(bound_twice) == 0


def test_memory_is_bounded_while_the_context_lasts() -> None:
    """An allocation beyond the bound fails, one within it does not, and the old bound returns."""
    before = resource.getrlimit(resource.RLIMIT_DATA)
    with limited_memory_growth(64 * MIB):
        assert len(bytearray(16 * MIB)) == 16 * MIB
        with pytest.raises(MemoryError):
            bytearray(256 * MIB)
    assert resource.getrlimit(resource.RLIMIT_DATA) == before
    assert len(bytearray(256 * MIB)) == 256 * MIB


def test_the_machine_has_some_memory_and_not_all_of_the_world() -> None:
    """A failed allocation of little memory then hit a bound."""
    assert machine_has(MIB)
    assert not machine_has(1 << 60)


def test_processors_are_those_that_this_process_may_use() -> None:
    """A container or a scheduler may leave it fewer than the machine has."""
    assert processors() == len(os.sched_getaffinity(0))
