"""Groups of version 1, which has a hierarchy of folders for each controller."""

from __future__ import annotations

import errno
import mmap
from pathlib import Path

from grader.sandbox.cgroups.files import Hierarchy, entry, number, write
from grader.sandbox.cgroups.group import Ground, Group, GroupBounds, NoGround

_NEEDED = ("memory", "pids")
# A share of the processor for the group as a whole.
_WANTED = ("cpu",)
# No single request that is refused is larger. (Not all versions of the kernel count refusals.)
_AT_ONCE = 64 * mmap.PAGESIZE


class GroupV1(Group):
    """A group with a folder in each hierarchy."""

    def limit(self, bounds: GroupBounds) -> None:
        memory = bounds.memory // mmap.PAGESIZE * mmap.PAGESIZE
        write(self._file("memory.limit_in_bytes"), memory)
        if (with_swap := self._file("memory.memsw.limit_in_bytes")).exists():
            write(with_swap, memory)
        else:
            write(self._file("memory.swappiness"), 0)
        write(self._file("pids.max"), bounds.tasks)
        kept = number(self._file("memory.limit_in_bytes")), number(self._file("pids.max"))
        if kept != (memory, bounds.tasks):
            raise OSError(errno.EINVAL, f"the kernel keeps {kept} instead of {bounds}")

    def killed_for_memory(self) -> int:
        peaks = ("memory.max_usage_in_bytes", "memory.memsw.max_usage_in_bytes")
        most = max(number(self._file(name)) or 0 for name in peaks)
        bound = number(self._file("memory.limit_in_bytes")) or 0
        was_reached = most + _AT_ONCE > bound
        return entry(self._file("memory.oom_control"), "oom_kill") if was_reached else 0

    def _file(self, name: str) -> Path:
        """Returns a control file, in the folder of the hierarchy that has it."""
        files = [folder / name for folder in self.folders]
        return next((file for file in files if file.exists()), files[0])


def parents(found: list[Hierarchy]) -> list[Path] | NoGround:
    """Returns this process's own groups: one of the kernel's hierarchies each."""
    own = {controller: each.own for each in reversed(found) for controller in each.controllers}
    missing = [controller for controller in _NEEDED if controller not in own]
    if missing:
        return NoGround(f"there is no hierarchy of control groups for {' and '.join(missing)}")
    return list(dict.fromkeys(own[name] for name in (*_NEEDED, *_WANTED) if name in own))


def new_ground(found: list[Hierarchy], name: str) -> Ground | NoGround:
    """Returns a folder for groups below this process's own groups; only root is granted one."""
    below = parents(found)
    if isinstance(below, NoGround):
        return below
    ground = Ground("v1", tuple(parent / name for parent in below), GroupV1)
    try:
        for folder in ground.folders:
            folder.mkdir()
    except OSError as error:
        ground.close()
        return NoGround(f"no control group may be made ({error.strerror}: {error.filename})")
    return ground
