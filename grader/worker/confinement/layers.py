"""Confines a worker before the first line of a submission runs, layer by layer.

Each layer is tried, and what was reached is told to the judge; a layer that the machine does not
grant is "none". Nothing here can be undone by the process that it confines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.worker.confinement.filesystem import prepare_files, restrict_files
from grader.worker.confinement.gpu import device_files, driver_files, is_cuda
from grader.worker.confinement.identity import drop_privileges
from grader.worker.confinement.limits import ProcessLimits, limit_disk, limit_resources
from grader.worker.confinement.seccomp.filter import prepare_filter, restrict_system_calls
from grader.worker.inherited import InheritedState

NONE = "none"


@dataclass(frozen=True, slots=True)
class Territory:
    """What a worker may see: folders to read, one folder to write to, files of devices to use."""

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
    """What each layer came to, by its name; and which limits the kernel keeps by itself."""

    isolation: dict[str, str]
    kept: tuple[str, ...]


def confine(territory: Territory, bounds: ProcessLimits, heritage: InheritedState) -> Confined:
    """Applies every layer.

    Where workers have a file tree of their own, what this one writes to is a mount of its own.
    """
    kept = [
        *limit_disk(territory.writable, bounds, heritage),
        *limit_resources(bounds, territory.is_on_cpu, heritage),
    ]
    reached = {"identity": drop_privileges(heritage.user)}
    reached["filesystem"] = restrict_files(
        territory.readable, territory.writable, territory.devices
    )
    reached |= restrict_system_calls(heritage.granted, uses_device=not territory.is_on_cpu)
    reached["namespaces"] = ", ".join(heritage.namespaces) or "not granted"
    return Confined(reached, tuple(kept))
