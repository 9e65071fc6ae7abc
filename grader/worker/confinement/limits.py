"""Limits: memory, files, descriptors, processor time; and no descriptor but the channel."""

from __future__ import annotations

import os
import resource
import sys
from dataclasses import dataclass
from pathlib import Path

_DESCRIPTORS = 256


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a worker may use: bytes of memory, bytes in one file, seconds of processor time."""

    memory: int
    file_size: int
    cpu_seconds: int


def limit_resources(bounds: Bounds) -> str:
    """Sets the limits of this process, soft and hard; what bounds its memory.

    Private memory is bounded (RLIMIT_DATA): it is what is really used, while a limit of the
    address space would refuse the mappings that torch makes. Thread stacks count as well.
    """
    _set(resource.RLIMIT_CORE, 0)
    _set(resource.RLIMIT_NOFILE, _DESCRIPTORS)
    _set(resource.RLIMIT_FSIZE, bounds.file_size)
    _set(resource.RLIMIT_CPU, bounds.cpu_seconds)
    if sys.platform != "linux":
        return "none"
    status = Path("/proc/self/status").read_text()
    data = next(line for line in status.splitlines() if line.startswith("VmData:"))
    _set(resource.RLIMIT_DATA, int(data.split()[1]) * 1024 + bounds.memory)
    return f"{bounds.memory >> 20} MB"


def close_descriptors(kept: set[int]) -> None:
    """Closes every descriptor but the standard streams and `kept`."""
    last = 2
    for descriptor in sorted(kept):
        os.closerange(last + 1, descriptor)
        last = max(last, descriptor)
    os.closerange(last + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[0])


def _set(what: int, limit: int) -> None:
    _, hard = resource.getrlimit(what)
    allowed = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    resource.setrlimit(what, (allowed, allowed))
