"""A control group: what it bounds, who is in it, and what the kernel says of them."""

from __future__ import annotations

import errno
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path

from grader.sandbox.groups.control_files import entry, write
from grader.sandbox.groups.tree import kill_all, remove_all


@dataclass(frozen=True, slots=True)
class Bounds:
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
        self._was_refused: bool | None = None

    @abstractmethod
    def limit(self, bounds: Bounds) -> None:
        """Bounds what its members may have.

        Raises:
            OSError: if the kernel does not keep to it.
        """

    @abstractmethod
    def processor_seconds(self) -> float | None:
        """What all who were ever in it computed; None if nobody counts."""

    @abstractmethod
    def memory(self) -> int | None:
        """The bytes that are charged to it, among them file pages that could be given back."""

    @abstractmethod
    def peak_memory(self) -> int | None:
        """The most that was ever charged to it; None before Linux 5.19, in version 2."""

    @abstractmethod
    def ran_out_of_memory(self) -> bool:
        """Whether a member was killed since the group had reached its bound.

        One that is killed because the machine has no memory left does not count.
        """

    def was_refused_tasks(self) -> bool:
        """Whether a member wanted a process or thread too many."""
        if self._was_refused is not None:
            return self._was_refused
        return any(entry(folder / "pids.events", "max") > 0 for folder in self.folders)

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
        # On the way they may be refused all tasks: that is not their doing.
        self._was_refused = self.was_refused_tasks()
        return kill_all(self.folders)

    def remove(self) -> bool:
        """Takes the group away, once nobody is in it; whether it is gone."""
        return remove_all(self.folders)
