"""Confines a worker before the first line of a submission runs, layer by layer.

Each layer is tried, and what was reached is told to the judge; a layer that the machine does not
grant is "none". Nothing here can be undone by the process that it confines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.worker.confinement.filesystem import prepare_files, restrict_files
from grader.worker.confinement.gpu import device_files, driver_files
from grader.worker.confinement.identity import drop_privileges
from grader.worker.confinement.limits import Bounds, limit_resources
from grader.worker.confinement.syscalls import prepare_filter, restrict_system_calls

NONE = "none"


@dataclass(frozen=True, slots=True)
class Territory:
    """What a worker may see: folders to read, one folder to write to, files of devices to use."""

    readable: Sequence[Path]
    writable: Path
    devices: Sequence[Path] = ()

    @classmethod
    def around(cls, root: Path, scratch: Path, device: str) -> Territory:
        """That of a submission in the folder `root` which may use a device."""
        return cls([root, *driver_files(device)], scratch, device_files(device))


def prepare_confinement(granted: Sequence[str] = ()) -> None:
    """Does ahead of the fork what is the same for every worker."""
    prepare_files()
    prepare_filter(granted)


def confine(
    territory: Territory, bounds: Bounds, user: int | None, granted: Sequence[str] = ()
) -> dict[str, str]:
    """Applies every layer; what each came to, by its name.

    `user` is the id that a worker of a privileged grader takes on, where packages can be read by
    others; None keeps the user and drops its capabilities. System calls that the assignment has
    `granted` are allowed beside those that every worker may make.
    """
    reached = {"memory": limit_resources(bounds)}
    reached["identity"] = drop_privileges(user)
    reached["filesystem"] = restrict_files(
        territory.readable, territory.writable, territory.devices
    )
    reached |= restrict_system_calls(granted, uses_device=bool(territory.devices))
    return reached
