"""A control group: what it bounds, who is in it, and what the kernel says of them."""

from __future__ import annotations

import errno
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path

from grader.sandbox.cgroups.control_files import write
from grader.sandbox.cgroups.tree import kill_all, remove_all


@dataclass(frozen=True, slots=True)
class GroupBounds:
    """What the members of a group may have together.

    `memory` is in bytes, with what the kernel holds for them, and none of it is swapped out.
    `tasks` are processes and threads.
    """

    memory: int
    tasks: int


class Group(ABC):
    """A group, which is a folder in each of the kernel's hierarchies that account for it."""

    def __init__(self, folders: tuple[Path, ...]) -> None:
        self.folders = folders

    @abstractmethod
    def limit(self, bounds: GroupBounds) -> None:
        """Bounds what its members may have.

        Raises:
            OSError: if the kernel does not keep to it.
        """

    @abstractmethod
    def killed_for_memory(self) -> int:
        """How many members were killed, ever, since the group had reached its bound.

        One that is killed because the machine has no memory left does not count.
        """

    def add(self, pid: int) -> None:
        """Moves a process, with all its threads, into the group; what it has by now is not charged.

        `pid` is its number in the namespace of process ids of whoever calls this.

        Raises:
            OSError: if it is gone, or the kernel refuses.
        """
        if pid <= 0:  # 0 would be who writes it
            raise ProcessLookupError(errno.ESRCH, f"there is no process {pid}")
        for folder in self.folders:
            write(folder / "cgroup.procs", pid)

    def kill(self) -> bool:
        """Kills all members, whatever they do against it; whether none is left."""
        return kill_all(self.folders)

    def remove(self) -> bool:
        """Takes the group away, once nobody is in it; whether it is gone."""
        return remove_all(self.folders)
