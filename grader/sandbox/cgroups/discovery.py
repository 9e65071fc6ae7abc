"""Finds the control groups that this process may make, and removes abandoned ones."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from grader.sandbox.cgroups import v1, v2
from grader.sandbox.cgroups.files import Hierarchy, hierarchies, kill_all, remove_all
from grader.sandbox.cgroups.group import Ground, GroupBounds, NoGround, is_abandoned, new_name
from grader.sandbox.cgroups.scope import enter_scope, scopes


def sweep() -> None:
    """Removes this user's grounds whose processes are gone, killing who is left in them."""
    for folder in _grounds():
        if is_abandoned(folder.name):
            kill_all([folder])
            remove_all([folder])


def _grounds() -> Iterator[Path]:
    """Yields this user's folders where grounds are made."""
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


_TRIAL = GroupBounds(memory=64 << 20, tasks=16)
_SECONDS = 10.0


def find_ground() -> Ground | NoGround:
    """A ground of this process's own, in which a group was made, filled, killed and removed.

    A machine whose memory is accounted for by version 1 has that, whatever else is mounted.
    Grounds of processes that were killed are removed.
    """
    sweep()
    found = hierarchies()
    if any("memory" in each.controllers for each in found):
        return _tried(v1.new_ground(found, new_name()))
    for hierarchy in found:
        if hierarchy.version == 2:
            return _ground_v2(hierarchy)
    return NoGround("no control groups are mounted here")


def _ground_v2(hierarchy: Hierarchy) -> Ground | NoGround:
    """Returns a ground in this process's own group, or else in a scope of systemd."""
    ground = _tried(v2.new_ground(hierarchy, new_name()))
    if isinstance(ground, Ground):
        return ground
    inside = enter_scope(hierarchy, f"{new_name()}.scope")
    if isinstance(inside, NoGround):
        return NoGround(f"{ground.because}; {inside.because}")
    return _tried(v2.new_ground(inside, new_name(), "v2, scope of systemd"))


def _tried(ground: Ground | NoGround) -> Ground | NoGround:
    """Returns the ground, if it does all that it is for."""
    if isinstance(ground, NoGround):
        return ground
    because = _what_fails(ground)
    if because is None:
        return ground
    ground.close()
    return NoGround(because)


def _what_fails(ground: Ground) -> str | None:
    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", "input()"], stdin=subprocess.PIPE
    ) as waiting:
        try:
            group = ground.new("trial", _TRIAL)
            group.add(waiting.pid)
            if not group.kill() or waiting.wait(_SECONDS) != -signal.SIGKILL:
                return "a process in a control group could not be killed"
            if not group.remove():
                return "a control group could not be removed"
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"no process can be held in a control group ({error})"
        finally:
            waiting.kill()
    return None
