"""Limits that the kernel keeps for each process: memory, files, threads, processor time, disk."""

from __future__ import annotations

import os
import platform
import re
import resource
import sys
from dataclasses import dataclass
from pathlib import Path

from grader.worker.confinement.file_tree import enter_own_scratch
from grader.worker.inherited import InheritedState

_DESCRIPTORS = 256
# Of the address space, beside the memory: stacks, arenas and files of which little is touched. A
# page table takes 1/512 of what it maps, so that all of them stay below 64 MB.
_SPARE_ADDRESSES = 24 << 30
# Since then, each user namespace counts its own processes (Linux 5.14).
_COUNTS_PER_NAMESPACE = (5, 14)


@dataclass(frozen=True, slots=True)
class ProcessLimits:
    """What a worker may use: bytes of memory, on disk and in one file, files, threads.

    And seconds of processor time.
    """

    memory: int
    disk: int
    files: int
    file_size: int
    threads: int
    cpu_seconds: int


def limit_disk(scratch: Path, bounds: ProcessLimits, heritage: InheritedState) -> list[str]:
    """Makes `scratch` a folder with a size of its own, where that is granted: "disk" is kept."""
    may = "files" in heritage.namespaces
    return ["disk"] if may and enter_own_scratch(scratch, bounds.disk, bounds.files) else []


def limit_resources(
    bounds: ProcessLimits, bound_addresses: bool, heritage: InheritedState
) -> list[str]:
    """Sets the limits of this process, soft and hard; those that need no watching: "threads".

    Private memory is bounded (RLIMIT_DATA): it is what is really used. The address space, of which
    torch maps far more than it touches, is bounded generously: what maps it takes memory of the
    kernel. Thread stacks count as well.
    """
    _set(resource.RLIMIT_CORE, 0)
    _set(resource.RLIMIT_NOFILE, _DESCRIPTORS)
    _set(resource.RLIMIT_FSIZE, bounds.file_size)
    _set(resource.RLIMIT_CPU, bounds.cpu_seconds)
    if sys.platform != "linux":
        return []
    _set(resource.RLIMIT_DATA, heritage.mapped.data + bounds.memory)
    if bound_addresses:
        _set(resource.RLIMIT_AS, heritage.mapped.addresses + bounds.memory + _SPARE_ADDRESSES)
    if not _are_counted_apart(heritage):
        return []
    _set(resource.RLIMIT_NPROC, bounds.threads)
    return ["threads"]


def close_descriptors(kept: set[int]) -> None:
    """Closes every descriptor but the standard streams and `kept`."""
    last = 2
    for descriptor in sorted(kept):
        os.closerange(last + 1, descriptor)
        last = max(last, descriptor)
    os.closerange(last + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[0])


def _are_counted_apart(heritage: InheritedState) -> bool:
    """Whether the kernel counts a worker's threads, and no others, as those of its user."""
    if heritage.user is not None:
        return True
    release = tuple(int(part) for part in re.findall(r"\d+", platform.release())[:2])
    # The superuser is exempt, also in a namespace.
    return "users" in heritage.namespaces and os.geteuid() != 0 and release >= _COUNTS_PER_NAMESPACE


def _set(what: int, limit: int) -> None:
    _, hard = resource.getrlimit(what)
    allowed = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    resource.setrlimit(what, (allowed, allowed))
