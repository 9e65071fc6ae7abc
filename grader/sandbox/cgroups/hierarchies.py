"""The kernel's hierarchies of control groups, and which group this process is in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

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
    """All in which this process can see its own group; none but on Linux."""
    try:
        groups = (process / "cgroup").read_text()
        mounts = (process / "mountinfo").read_text()
    except OSError:
        return []
    return list(_visible(dict(_own_groups(groups)), mounts))


def _own_groups(text: str) -> Iterator[tuple[frozenset[str], PurePosixPath]]:
    """This process's groups, by the controllers of their hierarchy (version 2: none)."""
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
    """A path of mountinfo, in which white space is written as octal numbers."""
    return _ESCAPED.sub(lambda match: chr(int(match[1], 8)), field)
