"""The state that a worker inherits from its fork server."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path


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

    `mapped` is what every worker has mapped from the beginning, `granted` the system calls that the
    assignment allows beside those that every worker may make.
    """

    user: int | None
    namespaces: tuple[str, ...]
    engine: tuple[str, ...]
    mapped: Mapped
    granted: tuple[str, ...] = ()
