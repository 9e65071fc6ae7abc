"""Control groups of the kernel, which bound the memory and the tasks of workers.

A submission cannot evade these bounds: they count every thread and all memory. That includes
shared and private memory, page tables and other memory of the kernel, and files in a tmpfs that a
member wrote. The judge uses groups like this:

    ground = find_ground()                     # once for each process; makes a trial group
    group = ground.new("server-1", GroupBounds(memory=512 << 20, tasks=64))
    group.add(pid)                             # of a fork server: its forks join the group too
    group.killed_for_memory()                  # the number of members killed so far
    ground.clear(), ground.close()             # bounded in time; False if something is left

This module holds groups, the ground where a process makes them, and access to the kernel's files;
`cgroup_grounds.py` finds a ground.
"""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import re
import secrets
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath


def write(file: Path, value: int | str) -> None:
    """Writes to an existing control file; never creates one.

    Raises:
        OSError: if there is no such file, or the kernel refuses.
    """
    descriptor = os.open(file, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, str(value).encode())
    finally:
        os.close(descriptor)


def words(file: Path) -> list[str]:
    """Returns the words of a file, or nothing if the file cannot be read."""
    try:
        return file.read_text().split()
    except OSError:
        return []


def number(file: Path) -> int | None:
    """Returns the number that a file holds, or None if it holds none."""
    said = words(file)
    return int(said[0]) if said and said[0].isdigit() else None


def entry(file: Path, key: str) -> int:
    """Returns the number that follows a key in a file; 0 if the kernel does not count it."""
    said = words(file)
    numbers = dict(zip(said[::2], said[1::2], strict=False))
    return int(numbers.get(key, 0))


# A process that holds gigabytes takes seconds to die.
_SECONDS = 10.0
_SHORTEST, _LONGEST = 0.0002, 0.02


def kill_all(tops: Iterable[Path]) -> bool:
    """Kills all processes in groups; returns whether all of them end within ten seconds."""
    folders = _within(tops)
    if not _killed_at_once(folders):
        # No member can fork from here on, so that killing catches up with them.
        for folder in folders:
            with contextlib.suppress(OSError):
                write(folder / "pids.max", 0)
    return _in_time(lambda: _is_emptied(folders))


def remove_all(tops: Iterable[Path]) -> bool:
    """Removes groups without members; returns whether all are gone within ten seconds.

    The kernel keeps a group until its last member has given back its memory.
    """
    folders = _within(tops)
    return _in_time(lambda: _are_removed(folders))


def members(folders: Iterable[Path]) -> set[int]:
    """Returns the ids of the processes in groups, without those in inner groups."""
    found = {int(pid) for folder in folders for pid in words(folder / "cgroup.procs")}
    return found - {0}  # processes out of sight read as 0, which to kill(2) means the caller


def _within(tops: Iterable[Path]) -> list[Path]:
    """Returns folders and all folders below them, the innermost first."""
    return [Path(folder) for top in tops for folder, *_ in os.walk(top, topdown=False)]


def _killed_at_once(folders: list[Path]) -> bool:
    """Has the kernel kill all members (version 2, Linux 5.14); returns whether it could."""
    try:
        for folder in folders:
            write(folder / "cgroup.kill", 1)
    except OSError:
        return not any(folder.exists() for folder in folders)
    return True


def _is_emptied(folders: list[Path]) -> bool:
    left = members(folders)
    for pid in left:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    return not left


def _are_removed(folders: list[Path]) -> bool:
    for folder in folders:
        with contextlib.suppress(OSError):
            folder.rmdir()
    return not any(folder.exists() for folder in folders)


def _in_time(is_done: Callable[[], bool]) -> bool:
    deadline, pause = time.monotonic() + _SECONDS, _SHORTEST
    while not is_done():
        if time.monotonic() > deadline:
            return False
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST)
    return True


# White space in a path of mountinfo.
_ESCAPED = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """A mounted hierarchy of groups: its mount point and the folder of this process's own group.

    `controllers` are those of a hierarchy of version 1. Version 2 has a single hierarchy, in which
    each group lists its own controllers.
    """

    version: int
    controllers: frozenset[str]
    mount: Path
    own: Path


def hierarchies(process: Path = Path("/proc/self")) -> list[Hierarchy]:
    """Returns all hierarchies in which this process sees its own group; none outside Linux."""
    try:
        # A path may have any bytes.
        groups = os.fsdecode((process / "cgroup").read_bytes())
        mounts = os.fsdecode((process / "mountinfo").read_bytes())
    except OSError:
        return []
    return list(_visible(dict(_own_groups(groups)), mounts))


def _own_groups(text: str) -> Iterator[tuple[frozenset[str], PurePosixPath]]:
    """Yields this process's groups with their hierarchy's controllers (none in version 2)."""
    for line in text.splitlines():
        _, controllers, path = line.split(":", 2)
        yield frozenset(controllers.split(",")) - {""}, PurePosixPath(path)


def _visible(groups: dict[frozenset[str], PurePosixPath], mounts: str) -> Iterator[Hierarchy]:
    for line in mounts.splitlines():
        mount, _, source = line.partition(" - ")
        kind, _, options = source.split(" ", 2)
        root, point = (
            _ESCAPED.sub(lambda it: chr(int(it[1], 8)), field) for field in mount.split(" ")[3:5]
        )
        if kind not in ("cgroup", "cgroup2"):
            continue
        for controllers, path in groups.items():
            is_this = controllers <= set(options.split(",")) if controllers else kind == "cgroup2"
            if is_this and bool(controllers) == (kind == "cgroup") and path.is_relative_to(root):
                own = Path(point) / path.relative_to(root)
                if own.is_dir():
                    yield Hierarchy(1 if controllers else 2, controllers, Path(point), own)


_NAME = re.compile(r"grader-[0-9]{1,9}-[0-9a-f]{8}(\.scope)?")


def new_name() -> str:
    """Returns a name for a ground of this process."""
    return f"grader-{os.getpid()}-{secrets.token_hex(4)}"


def is_of_a_grader(name: str) -> bool:
    """Returns whether a grader gave this name."""
    return _NAME.fullmatch(name) is not None


@dataclass(frozen=True, slots=True)
class GroupBounds:
    """The bounds on the memory and the tasks of all members of a control group together.

    `memory` is in bytes and includes kernel memory held for the members. None is swapped out.
    `tasks` are processes and threads.
    """

    memory: int
    tasks: int


# The largest request that is refused. Peaks are read since not all kernels count refusals.
_AT_ONCE = 64 * mmap.PAGESIZE


class Group:
    """A control group: a folder in each of the kernel's hierarchies that account for it.

    Version 1 has other files for memory than version 2.
    """

    def __init__(self, folders: tuple[Path, ...]) -> None:
        self.folders = folders

    def file(self, name: str) -> Path:
        """Returns a control file, in the folder of the hierarchy that has it."""
        files = [folder / name for folder in self.folders]
        return next((file for file in files if file.exists()), files[0])

    def limit_memory(self, memory: int) -> Path:
        """Bounds the members' memory, swapped or not; returns the file of the bound."""
        first, second = self.file("memory.limit_in_bytes"), self.file("memory.max")
        bound = first if first.exists() else second
        write(bound, memory)
        swap = {"memory.swap.max": 0, "memory.memsw.limit_in_bytes": memory, "memory.swappiness": 0}
        for name, value in swap.items():  # a kernel that does not swap may have none
            if (file := self.file(name)).exists():
                write(file, value)
                break
        return bound

    def limit(self, bounds: GroupBounds) -> None:
        """Sets the bounds on the members.

        Raises:
            OSError: if the kernel does not accept these bounds.
        """
        memory = bounds.memory // mmap.PAGESIZE * mmap.PAGESIZE
        file, tasks = self.limit_memory(memory), self.file("pids.max")
        write(tasks, bounds.tasks)
        kept = number(file), number(tasks)
        if kept != (memory, bounds.tasks):
            raise OSError(errno.EINVAL, f"the kernel keeps {kept} instead of {bounds}")

    def killed_for_memory(self) -> int:
        """Returns how many members were killed so far because the group reached its bound.

        A member that is killed because the whole machine is out of memory does not count.
        """
        if (events := self.file("memory.events")).exists():
            return entry(events, "oom_kill") if entry(events, "oom") > 0 else 0
        peaks = ("memory.max_usage_in_bytes", "memory.memsw.max_usage_in_bytes")
        most = max(number(self.file(name)) or 0 for name in peaks)
        was_reached = most + _AT_ONCE > (number(self.file("memory.limit_in_bytes")) or 0)
        return entry(self.file("memory.oom_control"), "oom_kill") if was_reached else 0

    def add(self, pid: int) -> None:
        """Moves a process, with all its threads, into the group; the memory it has is not charged.

        `pid` is the process id in the caller's pid namespace.

        Raises:
            OSError: if the process is gone, or the kernel refuses.
        """
        if pid <= 0:  # 0 would move the caller
            raise ProcessLookupError(errno.ESRCH, f"there is no process {pid}")
        for folder in self.folders:
            write(folder / "cgroup.procs", pid)

    def kill(self) -> bool:
        """Kills all members, however they resist; returns whether none is left."""
        return kill_all(self.folders)

    def remove(self) -> bool:
        """Removes the group once it has no members; returns whether it is gone."""
        return remove_all(self.folders)


class NoGround(Exception):
    """The machine grants no groups."""


@dataclass(frozen=True, slots=True)
class Ground:
    """The folders, one in each hierarchy, in which a process makes its groups.

    `version` tells people where the groups come from: "v1", "v2", "v2, scope of systemd". The
    names of the groups begin with `prefix`.
    """

    version: str
    folders: tuple[Path, ...]
    prefix: str = ""

    def part(self, name: str) -> Ground:
        """Returns this ground for one of several users; its `clear` leaves the others' groups."""
        return replace(self, prefix=f"{name}-")

    def new(self, name: str, bounds: GroupBounds) -> Group:
        """Returns a new group without members.

        Raises:
            OSError: if a group of that name exists, or the kernel refuses.
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
        """Returns the existing group of that name, whichever process made it.

        Returns None if there is none.
        """
        group = self._named(name)
        return group if all(folder.is_dir() for folder in group.folders) else None

    def clear(self) -> bool:
        """Kills the members of its groups and removes the groups; returns whether all are gone."""
        own = [one for folder in self.folders for one in folder.glob(f"{self.prefix}*")]
        inner = [one for one in own if one.is_dir()]
        return kill_all(inner) and remove_all(inner)

    def close(self) -> bool:
        """Kills all members, removes the groups and the ground; returns whether all are gone."""
        return kill_all(self.folders) and remove_all(self.folders)

    def _named(self, name: str) -> Group:
        return Group(tuple(folder / f"{self.prefix}{name}" for folder in self.folders))
