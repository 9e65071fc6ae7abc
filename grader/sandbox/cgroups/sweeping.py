"""Grounds are removed once the processes that they belong to are gone."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from grader.sandbox.cgroups import v1, v2
from grader.sandbox.cgroups.ground import NoGround
from grader.sandbox.cgroups.hierarchies import hierarchies
from grader.sandbox.cgroups.names import is_abandoned
from grader.sandbox.cgroups.scope import scopes
from grader.sandbox.cgroups.tree import kill_all, remove_all


def sweep() -> None:
    """Removes this user's grounds whose processes are gone, killing who is left in them."""
    for folder in _grounds():
        if is_abandoned(folder.name):
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
