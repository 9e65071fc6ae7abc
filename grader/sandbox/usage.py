"""What processes use, as the system tells: memory, threads, and whether they are still there."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

# Anonymous memory, wherever it is, shared memory, and the kernel's tables of both.
_MEMORY = ("RssAnon", "VmSwap", "RssShmem", "VmPTE")


@dataclass(frozen=True, slots=True)
class Usage:
    """Bytes of memory that processes hold, with the kernel's page tables for it, and threads."""

    memory: int
    threads: int

    @classmethod
    def of(cls, pids: Iterable[int]) -> Usage:
        """What processes use (Linux; elsewhere nothing is known)."""
        memory = threads = 0
        for pid in pids:
            with contextlib.suppress(OSError):
                lines = Path(f"/proc/{pid}/status").read_text().splitlines()
                told: Mapping[str, str] = dict(line.split(":", 1) for line in lines)
                memory += sum(int(told.get(key, "0").split()[0]) for key in _MEMORY)
                threads += int(told.get("Threads", "0"))
        return cls(1024 * memory, threads)


def family(pid: int) -> list[int]:
    """A process and its descendants, as far as they can be seen."""
    family, waiting = [pid], [pid]
    while waiting:
        parent = waiting.pop()
        with contextlib.suppress(OSError):
            for task in Path(f"/proc/{parent}/task").iterdir():
                children = [int(child) for child in (task / "children").read_text().split()]
                family += children
                waiting += children
    return family


def is_alive(pid: int) -> bool:
    """Whether a process is running: one that only waits to be buried is not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, 0)
            return not Path("/proc/self").exists()
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"
