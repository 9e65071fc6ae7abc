"""Confines a worker before the first line of a submission runs, layer by layer.

Each layer is tried, and its result is reported to the judge: "none" if the machine does not grant
the layer. The confined process cannot undo any layer.

Workers without a file tree of their own can see when a file was last read. Linux renews this access
time only if it is not later than the file's last change, or is a day old (relatime, mount(8)). If
the access time is less than half a day old, reading the file thus leaves no trace for another half
day. This does not hold for links elsewhere on the machine, which can be followed, nor on a file
system that records each access (strictatime).
"""

from __future__ import annotations

import contextlib
import os
import platform
import re
import resource
import stat
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.core.processes import Allowance
from grader.worker.confinement.file_tree import enter_own_scratch, restrict_files
from grader.worker.confinement.identity import drop_privileges
from grader.worker.confinement.seccomp import restrict_system_calls

_DAY = 24 * 3600
# A judge waits twice as long for its fork server.
_MOST_SECONDS = 60.0


def close_access_times(places: Iterable[Path]) -> None:
    """Renews the access times of all files, folders and links at and below `places`.

    They then stay the same for half a day. If reading would not renew an access time yet, it is set
    instead. Files that this process may not change are left out, as are those that it does not
    reach within a minute.
    """
    end = time.monotonic() + _MOST_SECONDS
    for place in _outermost(places):
        for path, status in _below(place):
            if time.monotonic() > end:
                return
            with contextlib.suppress(OSError):
                renew(path, status)


def _outermost(places: Iterable[Path]) -> list[str]:
    """Returns the places without those that lie in another one."""
    found = {os.path.realpath(place) for place in places}
    return [path for path in found if not any(str(above) in found for above in Path(path).parents)]


def _below(place: str) -> Iterator[tuple[str, os.stat_result]]:
    """Yields the paths at and below a place, with their status; lists folders, follows no link."""
    waiting = [place]
    while waiting:
        path = waiting.pop()
        try:
            status = os.lstat(path)
            if stat.S_ISDIR(status.st_mode):
                waiting += [entry.path for entry in os.scandir(path)]
        except OSError:
            continue
        yield path, status


def renew(path: str, status: os.stat_result) -> None:
    """Renews the access time of one path, if reading would renew it within half a day."""
    changed, age = max(status.st_mtime, status.st_ctime), time.time() - status.st_atime
    if status.st_atime <= changed or age >= _DAY:
        _read(path, status.st_mode)
    elif age > _DAY / 2:
        # Writing it changes the file, and the change must be older than the access time.
        note = time.time_ns() + 10**9
        os.utime(path, ns=(note, status.st_mtime_ns), follow_symlinks=False)


def _read(path: str, mode: int) -> None:
    if stat.S_ISLNK(mode):
        Path(path).readlink()
    elif stat.S_ISREG(mode):
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)
            os.pread(file, 1, 0)
        finally:
            os.close(file)


def mapped() -> tuple[int, int]:
    """Returns the bytes of private memory and of addresses that this process has mapped (Linux)."""
    if sys.platform != "linux":
        return 0, 0
    lines = Path("/proc/self/status").read_text().splitlines()
    told = dict(line.split(":", 1) for line in lines)
    data, addresses = (1024 * int(told[key].split()[0]) for key in ("VmData", "VmSize"))
    return data, addresses


@dataclass(frozen=True, slots=True)
class InheritedState:
    """The user id to take on, if any, the namespaces entered, the engine's modules by name.

    `data` and `addresses` are the bytes that every worker has mapped from the beginning: see
    `mapped`. `granted` are system calls that the assignment allows beside the usual ones.
    """

    user: int | None
    namespaces: tuple[str, ...]
    engine: tuple[str, ...]
    data: int
    addresses: int
    granted: tuple[str, ...]


# The files that NVIDIA's container toolkit gives to a container, and those that CUDA reads.
_GPU_DEVICES = ("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia[0-9]*")
_GPU_FILES = ("/proc/driver/nvidia", "/proc/devices", "/sys/module/nvidia", "/sys/bus/pci/devices")
_MOST_DESCRIPTORS = 256
# Address space beside the memory, for stacks, arenas and files of which little is touched. A page
# table takes 1/512 of the addresses that it maps, so that all of them stay below 64 MB.
_SPARE_ADDRESSES = 24 << 30
# From Linux 5.14 on, each user namespace counts its own processes.
_COUNTS_PER_NAMESPACE = (5, 14)


def limit_resources(bounds: Allowance, inherited: InheritedState) -> list[str]:
    """Sets the limits of this process, soft and hard; returns those that then need no watch.

    Private memory is bounded (RLIMIT_DATA), because it is really used; thread stacks count too. The
    address space is bounded generously, because torch maps far more than it touches. It is bounded
    at all because page tables take memory of the kernel.
    """
    _set(resource.RLIMIT_CORE, 0)
    _set(resource.RLIMIT_NOFILE, _MOST_DESCRIPTORS)
    _set(resource.RLIMIT_FSIZE, bounds.file_size)
    _set(resource.RLIMIT_CPU, bounds.cpu_seconds)
    if sys.platform != "linux":
        return []
    _set(resource.RLIMIT_DATA, inherited.data + bounds.memory)
    if not bounds.with_gpu:
        _set(resource.RLIMIT_AS, inherited.addresses + bounds.memory + _SPARE_ADDRESSES)
    if not _are_counted_apart(inherited):
        return []
    _set(resource.RLIMIT_NPROC, bounds.threads)
    return ["threads"]


def close_descriptors(kept: int) -> None:
    """Closes every descriptor but the standard streams and `kept`."""
    os.closerange(3, kept)
    os.closerange(kept + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[0])


def _are_counted_apart(inherited: InheritedState) -> bool:
    """Returns whether the kernel counts only the worker's threads as those of its user."""
    if inherited.user is not None:
        return True
    release = tuple(int(part) for part in re.findall(r"\d+", platform.release())[:2])
    # The superuser is exempt from the limit, also in a namespace.
    return (
        "users" in inherited.namespaces and os.geteuid() != 0 and release >= _COUNTS_PER_NAMESPACE
    )


def _set(what: int, limit: int) -> None:
    _, hard = resource.getrlimit(what)
    allowed = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    resource.setrlimit(what, (allowed, allowed))


def confine(
    root: Path, scratch: Path, bounds: Allowance, inherited: InheritedState
) -> dict[str, Any]:
    """Applies every layer to this process, which then reads below `root` and writes to `scratch`.

    Returns the result of each layer by its name, and the limits that the kernel keeps by itself.
    Where workers have a file tree of their own, `scratch` becomes a mount of this worker's own.
    """
    kept, readable, devices = [], [root], []
    if bounds.with_gpu:
        readable += map(Path, _GPU_FILES)
        devices = [file for some in _GPU_DEVICES for file in sorted(Path("/dev").glob(some))]
    if "files" in inherited.namespaces and enter_own_scratch(scratch, bounds.disk, bounds.files):
        kept.append("disk")
    kept += limit_resources(bounds, inherited)
    reached = {"identity": drop_privileges(inherited.user)}
    reached["filesystem"] = restrict_files(readable, scratch, devices)
    reached |= restrict_system_calls(inherited.granted, uses_device=bounds.with_gpu)
    reached["namespaces"] = ", ".join(inherited.namespaces) or "not granted"
    return {"isolation": reached, "kept": kept}
