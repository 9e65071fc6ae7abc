"""Confines a worker before the first line of a submission runs, layer by layer.

Each layer is tried, and what was reached is told to the judge; a layer that the machine does not
grant is "none". Nothing here can be undone by the process that it confines.
"""

from __future__ import annotations

import os
import platform
import re
import resource
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.worker.confinement.file_tree import enter_own_scratch, prepare_files, restrict_files
from grader.worker.confinement.identity import drop_privileges
from grader.worker.confinement.inherited import InheritedState
from grader.worker.confinement.seccomp.filter import prepare_filter, restrict_system_calls

# Those that NVIDIA's container toolkit gives to a container.
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
# Of the address space, beside the memory: stacks, arenas and files of which little is touched. A
# page table takes 1/512 of what it maps, so that all of them stay below 64 MB.
_SPARE_ADDRESSES = 24 << 30
# Since then, each user namespace counts its own processes (Linux 5.14).
_COUNTS_PER_NAMESPACE = (5, 14)


@dataclass(frozen=True, slots=True)
class ProcessLimits:
    """The limits of a worker: bytes of memory, on disk and in one file, files, threads.

    The processor time in seconds is limited as well.
    """

    memory: int
    disk: int
    files: int
    file_size: int
    threads: int
    cpu_seconds: int


def limit_disk(scratch: Path, bounds: ProcessLimits, inherited: InheritedState) -> list[str]:
    """Makes `scratch` a folder with a size of its own, where that is granted: "disk" is kept."""
    may = "files" in inherited.namespaces
    return ["disk"] if may and enter_own_scratch(scratch, bounds.disk, bounds.files) else []


def limit_resources(
    bounds: ProcessLimits, bound_addresses: bool, inherited: InheritedState
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
    """Returns whether the kernel counts a worker's threads, and no others, as those of its user."""
    if inherited.user is not None:
        return True
    release = tuple(int(part) for part in re.findall(r"\d+", platform.release())[:2])
    # The superuser is exempt, also in a namespace.
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
        """That of a submission in the folder `root` which may use a device."""
        return cls(
            [root, *driver_files(device)], scratch, device_files(device), not is_cuda(device)
        )


def prepare_confinement(granted: Sequence[str] = ()) -> None:
    """Does ahead of the fork what is the same for every worker.

    System calls that are `granted` will be allowed beside those that every worker may make.
    """
    prepare_files()
    prepare_filter(granted)


@dataclass(frozen=True, slots=True)
class Confined:
    """The result of each layer by its name, and the limits that the kernel keeps by itself."""

    isolation: dict[str, str]
    kept: tuple[str, ...]


def confine(territory: Territory, bounds: ProcessLimits, inherited: InheritedState) -> Confined:
    """Applies every layer.

    Where workers have a file tree of their own, what this one writes to is a mount of its own.
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
