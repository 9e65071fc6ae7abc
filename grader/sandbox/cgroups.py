"""Control groups of the kernel, in which workers are: memory and tasks are bounded.

What a submission does cannot distract or deceive it: all memory counts, whatever it was asked for
with (shared, private, page tables and what else the kernel holds for it, files in a tmpfs that a
member wrote), and every thread. For the judge's side:

    ground = find_ground()                     # once for each process; tries it for real
    if isinstance(ground, NoGround): ...       # ground.because says why, for people
    group = ground.new("server-1", GroupBounds(memory=512 << 20, tasks=64))
    group.add(pid)                             # of a fork server: what it forks is in it as well
    group.killed_for_memory()                  # so many, ever
    ground.clear(), ground.close()             # both bounded in time; False: not all is gone

Here are groups, the ground where a process makes them, and the kernel's files;
`cgroup_grounds.py` finds a ground.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import signal
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from grader.core.processes import is_alive


def write(file: Path, value: int | str) -> None:
    """Writes to a file that is there; none is made where the kernel has none.

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
    """Returns the number in a file of a single one."""
    said = words(file)
    return int(said[0]) if said and said[0].isdigit() else None


def entry(file: Path, key: str) -> int:
    """Returns the number that stands behind a key; 0 if the kernel does not count it."""
    said = words(file)
    numbers = dict(zip(said[::2], said[1::2], strict=False))
    return int(numbers.get(key, 0))


# Whoever holds gigabytes takes seconds to die.
_SECONDS = 10.0
_SHORTEST, _LONGEST = 0.0002, 0.02


def kill_all(tops: Iterable[Path]) -> bool:
    """Kills all that is in groups; whether none is left when the time for it is up."""
    folders = [folder for top in tops for folder in _below(top)]
    if not _killed_at_once(folders):
        # Nobody in them can start another one from here on, so that they become fewer.
        for folder in folders:
            with contextlib.suppress(OSError):
                write(folder / "pids.max", 0)
    return _in_time(lambda: _is_emptied(folders))


def remove_all(tops: Iterable[Path]) -> bool:
    """Removes groups that nobody is in; whether none is left when the time for it is up.

    The kernel keeps one until the last of its members has given back what it held.
    """
    folders = [folder for top in tops for folder in _below(top)]
    return _in_time(lambda: _are_removed(folders))


def members(folders: Iterable[Path]) -> set[int]:
    """Returns the process ids in groups, those below them not counted."""
    found = {int(pid) for folder in folders for pid in words(folder / "cgroup.procs")}
    return found - {0}  # what the kernel calls those that this process cannot see; to kill, itself


def _below(top: Path) -> Iterator[Path]:
    """Yields a folder and those in it, the innermost first."""
    with contextlib.suppress(OSError), os.scandir(top) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _below(Path(entry.path))
    yield top


def _killed_at_once(folders: list[Path]) -> bool:
    """Has the kernel kill all that is in groups (version 2, since Linux 5.14); whether it could."""
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


_ESCAPED = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """One that is mounted here: its mount point, and the folder of this process's own group.

    `controllers` are those of a hierarchy of version 1; version 2 has one hierarchy, which says in
    each of its groups what it controls.
    """

    version: int
    controllers: frozenset[str]
    mount: Path
    own: Path


def hierarchies(process: Path = Path("/proc/self")) -> list[Hierarchy]:
    """Returns all in which this process can see its own group; none but on Linux."""
    try:
        groups = (process / "cgroup").read_text()
        mounts = (process / "mountinfo").read_text()
    except OSError:
        return []
    return list(_visible(dict(_own_groups(groups)), mounts))


def _own_groups(text: str) -> Iterator[tuple[frozenset[str], PurePosixPath]]:
    """Yields this process's groups, by the controllers of their hierarchy (version 2: none)."""
    for line in text.splitlines():
        _, controllers, path = line.split(":", 2)
        yield frozenset(controllers.split(",")) - {""}, PurePosixPath(path)


def _visible(groups: dict[frozenset[str], PurePosixPath], mounts: str) -> Iterator[Hierarchy]:
    for line in mounts.splitlines():
        mount, _, source = line.partition(" - ")
        kind, _, options = source.split(" ", 2)
        root, point = (_plain(field) for field in mount.split(" ")[3:5])
        if kind not in ("cgroup", "cgroup2"):
            continue
        for controllers, path in groups.items():
            is_this = controllers <= set(options.split(",")) if controllers else kind == "cgroup2"
            if is_this and bool(controllers) == (kind == "cgroup") and path.is_relative_to(root):
                own = Path(point) / path.relative_to(root)
                if own.is_dir():
                    yield Hierarchy(1 if controllers else 2, controllers, Path(point), own)


def _plain(field: str) -> str:
    """Returns a path of mountinfo, in which white space is written as octal numbers."""
    return _ESCAPED.sub(lambda match: chr(int(match[1], 8)), field)


_NAME = re.compile(r"grader-([0-9]{1,9})-([0-9]{1,20})-[0-9a-f]{8}(\.scope)?")


def new_name() -> str:
    """Returns a name for a ground of this process."""
    return f"grader-{os.getpid()}-{_namespace()}-{secrets.token_hex(4)}"


def is_of_a_grader(name: str) -> bool:
    """Returns whether a grader gave this name."""
    return _NAME.fullmatch(name) is not None


def is_abandoned(name: str) -> bool:
    """Returns whether a grader gave this name whose process is gone, as seen from here."""
    match = _NAME.fullmatch(name)
    if match is None or int(match[2]) != _namespace():
        return False
    return not is_alive(int(match[1]))


def _namespace() -> int:
    """Returns which namespace of process ids this process is in: ids of another one differ."""
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
