"""Bounds on the memory of processes that compute what strangers chose (Linux; elsewhere none).

The bound is on private writable memory (`RLIMIT_DATA`, getrlimit(2)), counted from what the process
has: an allocation beyond it fails, and the machine's out-of-memory killer has nothing to do.
"""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path

if sys.platform == "linux":
    import resource


def limit_memory_growth(more: int) -> None:
    """Lets this process allocate so many bytes more than it has, from now on."""
    if sys.platform == "linux":
        soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
        limits = [one for one in (soft, hard) if one != resource.RLIM_INFINITY]
        resource.setrlimit(resource.RLIMIT_DATA, (min([_held() + more, *limits]), hard))


@contextlib.contextmanager
def limited_memory_growth(more: int) -> Iterator[None]:
    """Lets what runs in this context allocate so many bytes more than the process has."""
    if sys.platform != "linux":
        yield
        return
    before = resource.getrlimit(resource.RLIMIT_DATA)
    limit_memory_growth(more)
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


def machine_has(size: int) -> bool:
    """Returns whether the machine has so many bytes left: a bound, and not it, refused some."""
    if sys.platform != "linux":
        return False
    (left,) = re.findall(r"MemAvailable: *(\d+) kB", Path("/proc/meminfo").read_text())
    return int(left) << 10 > size


def _held() -> int:
    """Returns the bytes that `RLIMIT_DATA` counts of this process (statm, proc(5))."""
    pages = int(Path("/proc/self/statm").read_text().split()[5])
    return pages * resource.getpagesize()
