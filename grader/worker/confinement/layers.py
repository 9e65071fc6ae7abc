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
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.worker.confinement.file_tree import enter_own_scratch, prepare_files, restrict_files
from grader.worker.confinement.identity import drop_privileges
from grader.worker.confinement.seccomp import prepare_filter, restrict_system_calls

_DAY = 24 * 3600
# A judge waits twice as long for its fork server.
_SECONDS = 60.0


def close_access_times(places: Iterable[Path]) -> None:
    """Renews the access times of all files, folders and links at and below `places`.

    They then stay the same for half a day. An access time too young to be renewed by reading is
    written. Files that this process may not change are left out, as are those that it does not
    reach within a minute.
    """
    end = time.monotonic() + _SECONDS
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


@dataclass(frozen=True, slots=True)
class Mapped:
    """Bytes of private memory and of addresses that a process has mapped (Linux; elsewhere 0)."""

    data: int = 0
    addresses: int = 0

    @classmethod
    def by_this_process(cls) -> Mapped:
        """Returns the sizes that the kernel reports in the status of this process."""
        if sys.platform != "linux":
            return cls()
        lines = Path("/proc/self/status").read_text().splitlines()
        told = dict(line.split(":", 1) for line in lines)
        kilobytes = (int(told[key].split()[0]) for key in ("VmData", "VmSize"))
        return cls(*(1024 * size for size in kilobytes))


@dataclass(frozen=True, slots=True)
class InheritedState:
    """The user id to take on, if any, the namespaces entered, the engine's modules by name.

    `mapped` is the memory that every worker has mapped from the beginning. `granted` are system
    calls that the assignment allows beside the usual ones.
    """

    user: int | None
    namespaces: tuple[str, ...]
    engine: tuple[str, ...]
    mapped: Mapped
    granted: tuple[str, ...] = ()


# The files that NVIDIA's container toolkit gives to a container.
_DEVICES = ("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia[0-9]*")
_TOLD = ("/proc/driver/nvidia", "/proc/devices", "/sys/module/nvidia", "/sys/bus/pci/devices")


def device_files(device: str) -> list[Path]:
    """Returns the files through which a process computes on the device; none for the CPU."""
    return list(_found(device, Path("/dev"), _DEVICES))


def driver_files(device: str) -> list[Path]:
    """Returns the files that CUDA reads before it computes; none for the CPU."""
    return [Path(path) for path in _TOLD] if is_cuda(device) else []


def _found(device: str, folder: Path, patterns: Iterable[str]) -> Iterable[Path]:
    if is_cuda(device):
        for pattern in patterns:
            yield from sorted(folder.glob(pattern))


def is_cuda(device: str) -> bool:
    """Returns whether a device, as torch names it, is a GPU."""
    return device.partition(":")[0] == "cuda"


_DESCRIPTORS = 256
# Address space beside the memory, for stacks, arenas and files of which little is touched. A page
# table takes 1/512 of the addresses that it maps, so that all of them stay below 64 MB.
_SPARE_ADDRESSES = 24 << 30
# From Linux 5.14 on, each user namespace counts its own processes.
_COUNTS_PER_NAMESPACE = (5, 14)


@dataclass(frozen=True, slots=True)
class ProcessLimits:
    """The limits of a worker, which follow from the grader's `Allowance`.

    `memory`, `disk` and `file_size` (for a single file) are in bytes. `files` bounds the files on
    disk, `threads` the threads, and `cpu_seconds` the processor time.
    """

    memory: int
    disk: int
    files: int
    file_size: int
    threads: int
    cpu_seconds: int


def limit_disk(scratch: Path, bounds: ProcessLimits, inherited: InheritedState) -> list[str]:
    """Makes `scratch` a folder with a size of its own; returns ["disk"] where that is granted."""
    may = "files" in inherited.namespaces
    return ["disk"] if may and enter_own_scratch(scratch, bounds.disk, bounds.files) else []


def limit_resources(
    bounds: ProcessLimits, bound_addresses: bool, inherited: InheritedState
) -> list[str]:
    """Sets the limits of this process, soft and hard; returns those that the kernel keeps alone.

    Private memory is bounded (RLIMIT_DATA), because it is really used; thread stacks count too. The
    address space is bounded generously, because torch maps far more than it touches. It is bounded
    at all because page tables take memory of the kernel.
    """
    _set(resource.RLIMIT_CORE, 0)
    _set(resource.RLIMIT_NOFILE, _DESCRIPTORS)
    _set(resource.RLIMIT_FSIZE, bounds.file_size)
    _set(resource.RLIMIT_CPU, bounds.cpu_seconds)
    if sys.platform != "linux":
        return []
    _set(resource.RLIMIT_DATA, inherited.mapped.data + bounds.memory)
    if bound_addresses:
        _set(resource.RLIMIT_AS, inherited.mapped.addresses + bounds.memory + _SPARE_ADDRESSES)
    if not _are_counted_apart(inherited):
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


NONE = "none"


@dataclass(frozen=True, slots=True)
class Territory:
    """The files open to a worker: folders to read, one folder to write to, device files."""

    readable: Sequence[Path]
    writable: Path
    devices: Sequence[Path] = ()
    is_on_cpu: bool = True

    @classmethod
    def around(cls, root: Path, scratch: Path, device: str) -> Territory:
        """Returns the territory of a submission in the folder `root` which may use a device."""
        return cls(
            [root, *driver_files(device)], scratch, device_files(device), not is_cuda(device)
        )


def prepare_confinement(granted: Sequence[str] = ()) -> None:
    """Prepares, before the fork, the layers that are the same for every worker.

    The `granted` system calls are allowed beside the usual ones.
    """
    prepare_files()
    prepare_filter(granted)


@dataclass(frozen=True, slots=True)
class Confined:
    """The result of each layer by its name, and the limits that the kernel keeps by itself."""

    isolation: dict[str, str]
    kept: tuple[str, ...]


def confine(territory: Territory, bounds: ProcessLimits, inherited: InheritedState) -> Confined:
    """Applies every layer to this process.

    Where workers have a file tree of their own, this worker's folder to write to is its own mount.
    """
    kept = [
        *limit_disk(territory.writable, bounds, inherited),
        *limit_resources(bounds, territory.is_on_cpu, inherited),
    ]
    reached = {"identity": drop_privileges(inherited.user)}
    reached["filesystem"] = restrict_files(
        territory.readable, territory.writable, territory.devices
    )
    reached |= restrict_system_calls(inherited.granted, uses_device=not territory.is_on_cpu)
    reached["namespaces"] = ", ".join(inherited.namespaces) or "not granted"
    return Confined(reached, tuple(kept))
