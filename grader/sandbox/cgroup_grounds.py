"""Finds the control groups that this process may make.

A ground is the folder in which a process makes groups. It belongs to the process that found it;
the process and its forks use it. The zygote removes it after them.

Find a ground *before* you start the fork server: where systemd grants the ground, this process
moves into a scope. Only processes that it starts afterwards are in that scope too; an ordinary user
cannot move others into it.

Version 1 has a hierarchy of folders for each controller. Version 2 has a single hierarchy, parts of
which may be delegated to a process.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from grader.sandbox.cgroups import (
    Ground,
    GroupBounds,
    Hierarchy,
    NoGround,
    hierarchies,
    is_of_a_grader,
    new_name,
    words,
    write,
)

_SECONDS = 10.0
_MANAGER = (
    "org.freedesktop.systemd1",
    "/org/freedesktop/systemd1",
    "org.freedesktop.systemd1.Manager",
    "StartTransientUnit",
    "ssa(sv)a(sa(sv))",
)


def _enter_scope(hierarchy: Hierarchy, name: str) -> Hierarchy:
    """Moves this process into a new scope; returns the hierarchy as seen from there.

    An ordinary user may not move processes into a scope from outside, so the process that starts
    workers must be inside. Its later children are inside too. The scope ends with its last process.
    """
    around = hierarchy.own.relative_to(hierarchy.mount).parts
    _require_systemd(around)
    _ask(name, around)
    deadline = time.monotonic() + _SECONDS
    while time.monotonic() < deadline:
        for here in hierarchies():
            if here.mount == hierarchy.mount and here.own.name == name:
                return _step_aside(here)
        time.sleep(0.002)
    raise NoGround("systemd did not start the scope that it was asked for")


def _require_systemd(around: tuple[str, ...]) -> None:
    # A host's systemd that a container can reach would misread the container's process ids.
    is_there = words(Path("/proc/1/comm")) == ["systemd"]
    made_all = all(Path(name).suffix in (".slice", ".scope", ".service") for name in around)
    user = os.geteuid()
    is_session = user == 0 or f"user-{user}.slice" in around
    if not (is_there and made_all and is_session):
        raise NoGround("there is no systemd to ask for a control group")


def _ask(name: str, around: tuple[str, ...]) -> None:
    """Asks systemd for a scope with this process in it."""
    busctl = shutil.which("busctl")
    if busctl is None:
        raise NoGround("there is no busctl to ask systemd with")
    slices = [part for part in around if part.endswith(".slice")]
    # Root's scope stays within the bounds that root's processes have here.
    in_slice = ["Slice", "s", slices[-1]] if os.geteuid() == 0 and slices else []
    properties = [
        *("PIDs", "au", "1", str(os.getpid())),
        *("Delegate", "b", "true"),
        *("CollectMode", "s", "inactive-or-failed"),
        *in_slice,
    ]
    count = 4 if in_slice else 3
    command = [
        *(busctl, "--system" if os.geteuid() == 0 else "--user", "--quiet", "call", *_MANAGER),
        *(name, "fail", str(count), *properties, "0"),
    ]
    try:
        done = subprocess.run(
            command,
            env={"XDG_RUNTIME_DIR": f"/run/user/{os.geteuid()}", **os.environ},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoGround("systemd could not be asked for a scope") from error
    if done.returncode:
        raise NoGround(f"systemd grants no scope: {done.stderr.strip()}")


def _step_aside(here: Hierarchy) -> Hierarchy:
    """Moves this process into an inner group: a group with members cannot enable controllers."""
    leaf = here.own / "grader"
    try:
        leaf.mkdir()
        write(leaf / "cgroup.procs", os.getpid())
    except OSError as error:
        raise NoGround("the scope of systemd may not be divided") from error
    return replace(here, own=leaf)


_NEEDED = ("memory", "pids")
# Optional: gives each group, as a whole, one share of the processor.
_WANTED = ("cpu",)


def _parents_v1(found: list[Hierarchy]) -> list[Path]:
    """Returns this process's own groups, one in each hierarchy that is needed."""
    own = {controller: each.own for each in reversed(found) for controller in each.controllers}
    if not own.keys() >= set(_NEEDED):
        raise NoGround("there is no hierarchy of control groups for memory, or none for tasks")
    return list(dict.fromkeys(own[name] for name in (*_NEEDED, *_WANTED) if name in own))


def _new_ground_v1(found: list[Hierarchy], name: str) -> Ground:
    """Returns a folder for groups below this process's own groups; only root is granted one."""
    ground = Ground("v1", tuple(parent / name for parent in _parents_v1(found)))
    try:
        for folder in ground.folders:
            folder.mkdir()
    except OSError as error:
        ground.close()
        raise NoGround("no control group may be made") from error
    return ground


# The extended attributes by which systemd marks units whose inner groups it delegates.
_MARKS = ("user.delegate", "trusted.delegate")


def _new_ground_v2(hierarchy: Hierarchy, name: str, version: str = "v2") -> Ground:
    """Returns a folder for groups below the nearest group that is delegated to this process."""
    for parent in parents_v2(hierarchy):
        ground = Ground(version, (parent / name,))
        try:
            _hand_down(parent)
            ground.folders[0].mkdir()
            _hand_down(ground.folders[0])
        except OSError:
            ground.close()
        else:
            return ground
    raise NoGround("this process's control group is another's to divide")


def parents_v2(hierarchy: Hierarchy) -> Iterator[Path]:
    """Yields this process's own group and the groups around it that this process may divide.

    Systemd keeps for itself every group around a delegated unit, and every group inside a unit that
    is not delegated.
    """
    around = [hierarchy.own, *hierarchy.own.parents]
    within = around[: around.index(hierarchy.mount) + 1]
    units = [folder for folder in within if folder.suffix in (".scope", ".service", ".slice")]
    if not units:
        yield from within
    elif _is_delegated(units[0]):
        yield from within[: within.index(units[0]) + 1]


def _is_delegated(unit: Path) -> bool:
    """Returns whether a group is marked as delegated; a grader's own scope always counts.

    The systemd of an ordinary user may not be able to mark a scope.
    """
    if is_of_a_grader(unit.name):
        return True
    for mark in _MARKS:
        with contextlib.suppress(OSError):
            if os.getxattr(unit, mark) == b"1":
                return True
    return False


def _hand_down(folder: Path) -> None:
    """Enables the controllers for the groups in a folder.

    Raises:
        OSError: if a controller that is needed cannot be enabled.
    """
    for controller in (*_NEEDED, *_WANTED):
        if controller not in words(folder / "cgroup.subtree_control"):
            try:
                write(folder / "cgroup.subtree_control", f"+{controller}")
            except OSError:
                if controller in _NEEDED:
                    raise


_TRIAL = GroupBounds(memory=64 << 20, tasks=16)


def find_ground() -> Ground:
    """Returns a ground for this process, after a trial in which a group is made and killed.

    Version 1 is used wherever it accounts for memory, whatever else is mounted.

    Raises:
        NoGround: if this machine grants none.
    """
    found = hierarchies()
    if any("memory" in each.controllers for each in found):
        return _tried(_new_ground_v1(found, new_name()))
    for hierarchy in found:
        if hierarchy.version == 2:
            return _ground_v2(hierarchy)
    raise NoGround("no control groups are mounted here")


def _ground_v2(hierarchy: Hierarchy) -> Ground:
    """Returns a ground in this process's own group, or else in a scope of systemd."""
    with contextlib.suppress(NoGround):
        return _tried(_new_ground_v2(hierarchy, new_name()))
    inside = _enter_scope(hierarchy, f"{new_name()}.scope")
    return _tried(_new_ground_v2(inside, new_name(), "v2, scope of systemd"))


def _tried(ground: Ground) -> Ground:
    """Returns the ground if a trial group works in it; removes the ground otherwise."""
    try:
        _try(ground)
    except NoGround:
        ground.close()
        raise
    return ground


def _try(ground: Ground) -> None:
    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", "input()"], stdin=subprocess.PIPE
    ) as waiting:
        try:
            group = ground.new("trial", _TRIAL)
            group.add(waiting.pid)
            if not group.kill() or waiting.wait(_SECONDS) != -signal.SIGKILL:
                raise NoGround("a process in a control group could not be killed")
            if not group.remove():
                raise NoGround("a control group could not be removed")
        except (OSError, subprocess.TimeoutExpired) as error:
            raise NoGround("no process can be held in a control group") from error
        finally:
            waiting.kill()
