"""Grounds have the names of their processes, and are removed once these are gone."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
from collections.abc import Iterator
from pathlib import Path

from grader.sandbox.groups import v1, v2
from grader.sandbox.groups.ground import NoGround
from grader.sandbox.groups.hierarchies import hierarchies
from grader.sandbox.groups.scope import scopes
from grader.sandbox.groups.tree import kill_all, remove_all
from grader.sandbox.limits.usage import is_alive

_NAME = re.compile(r"grader-([0-9]{1,9})-([0-9]{1,20})-[0-9a-f]{8}(\.scope)?")


def new_name() -> str:
    """A name for a ground of this process."""
    return f"grader-{os.getpid()}-{_namespace()}-{secrets.token_hex(4)}"


def sweep() -> None:
    """Removes this user's grounds whose processes are gone, killing who is left in them."""
    for folder in _grounds():
        match = _NAME.fullmatch(folder.name)
        if match and int(match[2]) == _namespace() and not is_alive(int(match[1])):
            kill_all([folder])
            remove_all([folder])


def _grounds() -> Iterator[Path]:
    """This user's folders where grounds are made."""
    found = hierarchies()
    own = v1.parents(found)
    parents = [] if isinstance(own, NoGround) else own
    for hierarchy in found:
        if hierarchy.version == 2:
            parents += [*v2.parents(hierarchy), *scopes(hierarchy)]
    for parent in dict.fromkeys(parents):
        with contextlib.suppress(OSError), os.scandir(parent) as entries:
            for entry in entries:
                if entry.is_dir() and entry.stat().st_uid == os.geteuid():
                    yield Path(entry.path)


def _namespace() -> int:
    """Which namespace of process ids this process is in: in another one its id is another's."""
    return Path("/proc/self/ns/pid").stat().st_ino
