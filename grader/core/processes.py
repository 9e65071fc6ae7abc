"""Processes: how they end with their parent, which are running, and bounds on their memory.

A bound limits the private writable memory of a process (`RLIMIT_DATA`, getrlimit(2)), counted from
its present size. An allocation beyond the bound fails before the machine's out-of-memory killer has
to act. Only Linux has such bounds.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from grader.core.names import CPU

_PR_SET_PDEATHSIG = 1
# Both signals make a worker send a dump of its stack and end. The first waits until Python looks
# for signals, and gives the traceback that Python gives at home. The second does not wait: even a
# loop in C cannot delay it. Windows, where only students' own tests run, has neither.
DUMP_IN_PYTHON = getattr(signal, "SIGUSR2", signal.SIGTERM)
DUMP_AT_ONCE = getattr(signal, "SIGUSR1", signal.SIGTERM)


def end_with_parent(parent: int | None = None) -> None:
    """Has the kernel kill this process when its parent ends (prctl(2)).

    If `parent` is no longer its parent, that process has ended already, and this one ends at once.
    A change of user clears the setting.
    """
    prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if parent is not None and os.getppid() != parent:
        os._exit(1)


def prctl(option: int, value: int) -> None:
    """Sets an attribute of this process (prctl(2)); does nothing outside Linux."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def processors() -> int:
    """Returns how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def signal_name(number: int) -> str:
    """Returns the name of a signal; real-time signals have none in Python."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def is_alive(pid: int) -> bool:
    """Returns whether a process is running; a zombie is not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()  # a process may have any bytes as its name
    except OSError:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:  # it is another user's, and hidden
            return True
        return not Path("/proc/self").exists()
    return stat.rpartition(b")")[2].split()[0] != b"Z"


@dataclass(frozen=True, slots=True)
class Allowance:
    """The limits of one worker.

    `memory`, `disk` and `file_size` (for a single file) are in bytes. `files` bounds the files on
    disk, `threads` the threads, and `cpu_seconds` the processor time. `device` is the device beside
    the CPU, as torch names it.
    """

    memory: int
    disk: int = 256 << 20
    files: int = 10_000
    file_size: int = 64 << 20
    threads: int = 256
    cpu_seconds: int = 600
    device: str = CPU

    @property
    def with_gpu(self) -> bool:
        """Returns whether the device is a GPU."""
        return self.device.partition(":")[0] == "cuda"


if sys.platform == "linux":
    import resource


def limit_memory_growth(more: int) -> None:
    """Limits this process to `more` bytes beyond its present size."""
    if sys.platform == "linux":
        soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
        limits = [one for one in (soft, hard) if one != resource.RLIM_INFINITY]
        # The pages that `RLIMIT_DATA` counts (statm, proc(5)).
        held = int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_DATA, (min([held + more, *limits]), hard))


@contextlib.contextmanager
def limited_memory_growth(more: int) -> Iterator[None]:
    """Limits the process to `more` bytes beyond its present size while the context lasts."""
    if sys.platform != "linux":
        yield
        return
    before = resource.getrlimit(resource.RLIMIT_DATA)
    limit_memory_growth(more)
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


def is_of_memory(problem: BaseException | None) -> bool:
    """Returns whether an allocation failed, which Python and torch tell by different exceptions.

    It may be the cause of the exception, as where a reference finds no memory.
    """
    return any(
        isinstance(one, MemoryError)
        or (type(one) is RuntimeError and "DefaultCPUAllocator: " in str(one))
        for one in (problem, getattr(problem, "__cause__", None))
    )


def machine_has(size: int) -> bool:
    """Returns whether the machine has `size` bytes left; a failed allocation then hit a bound."""
    if sys.platform != "linux":
        return False
    (left,) = re.findall(r"MemAvailable: *(\d+) kB", Path("/proc/meminfo").read_text())
    return int(left) << 10 > size
