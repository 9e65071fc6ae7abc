"""The kernel's files of control groups: reading them, removing trees, finding hierarchies."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath


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
    """Whether the kernel kills all that is in groups by itself (version 2, since Linux 5.14)."""
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
