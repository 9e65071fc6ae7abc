"""Control groups, the ground where this process makes them, and their names."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from grader.core.processes import is_alive
from grader.sandbox.cgroups.files import kill_all, remove_all, write

_NAME = re.compile(r"grader-([0-9]{1,9})-([0-9]{1,20})-[0-9a-f]{8}(\.scope)?")


def new_name() -> str:
    """Returns a name for a ground of this process."""
    return f"grader-{os.getpid()}-{_namespace()}-{secrets.token_hex(4)}"


def is_of_a_grader(name: str) -> bool:
    """Returns whether a grader gave this name."""
    return _NAME.fullmatch(name) is not None


def is_abandoned(name: str) -> bool:
    """Whether a grader gave this name whose process is gone, as far as can be seen from here."""
    match = _NAME.fullmatch(name)
    if match is None or int(match[2]) != _namespace():
        return False
    return not is_alive(int(match[1]))


def _namespace() -> int:
    """Which namespace of process ids this process is in: in another one its id is another's."""
    return Path("/proc/self/ns/pid").stat().st_ino


@dataclass(frozen=True, slots=True)
class GroupBounds:
    """The bounds on the memory and the tasks of all members of a control group together.

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
        """Returns how many members were killed, ever, since the group had reached its bound.

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


@dataclass(frozen=True, slots=True)
class NoGround:
    """This machine grants no groups; `because` is half a sentence for people."""

    because: str


@dataclass(frozen=True, slots=True)
class Ground:
    """The folders, one in each hierarchy, in which a process makes its groups.

    `version` says for people whose groups these are: "v1", "v2", "v2, scope of systemd". The names
    of its groups begin with `prefix`.
    """

    version: str
    folders: tuple[Path, ...]
    kind: Callable[[tuple[Path, ...]], Group]
    prefix: str = ""

    def part(self, name: str) -> Ground:
        """Returns the same ground for one of those who share it: what it clears is its own."""
        return replace(self, prefix=f"{name}-")

    def new(self, name: str, bounds: GroupBounds) -> Group:
        """Returns a group that nobody is in.

        Raises:
            OSError: if there is one of that name, or the kernel grants none.
        """
        group = self._named(name)
        made: list[Path] = []
        try:
            for folder in group.folders:
                folder.mkdir()
                made.append(folder)
            group.limit(bounds)
        except OSError:
            for folder in made:
                with contextlib.suppress(OSError):
                    folder.rmdir()
            raise
        return group

    def get(self, name: str) -> Group | None:
        """Returns the group of that name that was made before, by whomever.

        Returns None if there is none.
        """
        group = self._named(name)
        return group if all(folder.is_dir() for folder in group.folders) else None

    def clear(self) -> bool:
        """Kills who is in its groups and removes these; whether all are gone."""
        own = [one for folder in self.folders for one in folder.glob(f"{self.prefix}*")]
        inner = [one for one in own if one.is_dir()]
        return kill_all(inner) and remove_all(inner)

    def close(self) -> bool:
        """Kills who is in its groups and removes these and itself; whether all is gone."""
        return kill_all(self.folders) and remove_all(self.folders)

    def _named(self, name: str) -> Group:
        return self.kind(tuple(folder / f"{self.prefix}{name}" for folder in self.folders))
