"""Groups of version 2, which has one hierarchy: whoever is handed a part of it rules there."""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
from collections.abc import Iterator
from pathlib import Path

from grader.sandbox.cgroups.files import Hierarchy, entry, number, words, write
from grader.sandbox.cgroups.group import Ground, Group, GroupBounds, NoGround, is_of_a_grader

_NEEDED = ("memory", "pids")
_WANTED = ("cpu",)
# What systemd marks the units with whose insides it leaves to others.
_MARKS = ("user.delegate", "trusted.delegate")
_REFUSED = {
    errno.EBUSY: "its processes would have to be in groups within it",
    errno.ENOENT: "its own memory and tasks are not accounted for",
}


class GroupV2(Group):
    """A group with one folder."""

    def limit(self, bounds: GroupBounds) -> None:
        memory = bounds.memory // mmap.PAGESIZE * mmap.PAGESIZE
        write(self._file("memory.max"), memory)
        write(self._file("pids.max"), bounds.tasks)
        with contextlib.suppress(FileNotFoundError):  # a kernel that does not swap
            write(self._file("memory.swap.max"), 0)
        kept = number(self._file("memory.max")), number(self._file("pids.max"))
        if kept != (memory, bounds.tasks):
            raise OSError(errno.EINVAL, f"the kernel keeps {kept} instead of {bounds}")

    def killed_for_memory(self) -> int:
        events = self._file("memory.events")
        return entry(events, "oom_kill") if entry(events, "oom") > 0 else 0

    def _file(self, name: str) -> Path:
        return self.folders[0] / name


def new_ground(hierarchy: Hierarchy, name: str, version: str = "v2") -> Ground | NoGround:
    """Returns a folder for groups below the nearest group that was handed to this process."""
    because = "this process's control group is another's to divide"
    for parent in parents(hierarchy):
        ground = Ground(version, (parent / name,), GroupV2)
        try:
            _hand_down(parent)
            ground.folders[0].mkdir()
            _hand_down(ground.folders[0])
        except OSError as error:
            ground.close()
            because = f"no control group may be made in {parent} ({error.strerror})"
        else:
            return ground
    return NoGround(because)


def parents(hierarchy: Hierarchy) -> Iterator[Path]:
    """Yields this process's own group and those around it, as far as they are nobody else's.

    Systemd marks the units whose insides are not its own; what is around them is.
    """
    around = [hierarchy.own, *hierarchy.own.parents]
    within = around[: around.index(hierarchy.mount) + 1]
    units = [folder for folder in within if folder.suffix in (".scope", ".service", ".slice")]
    if not units:
        yield from within
    elif _is_delegated(units[0]):
        yield from within[: within.index(units[0]) + 1]


def _is_delegated(unit: Path) -> bool:
    """Returns whether a group is marked as delegated; graders' own scopes all count.

    The manager of an ordinary user may not be able to mark one.
    """
    if is_of_a_grader(unit.name):
        return True
    for mark in _MARKS:
        with contextlib.suppress(OSError):
            if os.getxattr(unit, mark) == b"1":
                return True
    return False


def _hand_down(folder: Path) -> None:
    """Lets the groups in a folder have controllers.

    Raises:
        OSError: if they have not got those that are needed.
    """
    for controller in (*_NEEDED, *_WANTED):
        if controller not in words(folder / "cgroup.subtree_control"):
            try:
                write(folder / "cgroup.subtree_control", f"+{controller}")
            except OSError as error:
                if controller in _NEEDED:
                    why = _REFUSED.get(error.errno or 0, error.strerror or "")
                    raise OSError(error.errno, why) from error
