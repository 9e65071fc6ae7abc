"""A scope of systemd for this process: a group that the service manager leaves to it."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

from grader.sandbox.cgroups.files import Hierarchy, hierarchies, words, write
from grader.sandbox.cgroups.group import NoGround

_SECONDS = 10.0
_MANAGER = (
    "org.freedesktop.systemd1",
    "/org/freedesktop/systemd1",
    "org.freedesktop.systemd1.Manager",
    "StartTransientUnit",
    "ssa(sv)a(sa(sv))",
)


def enter_scope(hierarchy: Hierarchy, name: str) -> Hierarchy | NoGround:
    """Moves this process into a new scope; the hierarchy as it looks from there.

    An ordinary user may bring nobody into their groups from outside: whoever is to start workers
    must itself be inside. What it starts later is too. The scope vanishes with the last in it.
    """
    around = hierarchy.own.relative_to(hierarchy.mount).parts
    refusal = _why_not_from(around)
    if refusal:
        return NoGround(refusal)
    asked = _ask(name, around)
    if asked:
        return NoGround(asked)
    deadline = time.monotonic() + _SECONDS
    while time.monotonic() < deadline:
        for here in hierarchies():
            if here.mount == hierarchy.mount and here.own.name == name:
                return _step_aside(here)
        time.sleep(0.002)
    return NoGround("systemd did not start the scope that it was asked for")


def scopes(hierarchy: Hierarchy) -> list[Path]:
    """Returns the folders in which scopes of this user's processes are."""
    around = [hierarchy.own, *hierarchy.own.parents]
    slices = [folder for folder in around if folder.suffix == ".slice"]
    user = os.geteuid()
    of_user = [folder for folder in slices if folder.name == f"user-{user}.slice"]
    managers = [folder / f"user@{user}.service" for folder in of_user]
    return [*slices, *managers, *(manager / "app.slice" for manager in managers)]


def _why_not_from(around: tuple[str, ...]) -> str | None:
    """Returns why systemd cannot be asked for a control group, or None if it can."""
    # One that is only mounted into a container takes process ids for those of other processes.
    if words(Path("/proc/1/comm")) != ["systemd"]:
        return "there is no systemd to ask for a control group"
    if not all(Path(name).suffix in (".slice", ".scope", ".service") for name in around):
        return f"this process is in a control group of another's making ({'/'.join(around)})"
    user = os.geteuid()
    if user and f"user-{user}.slice" not in around:
        return f"this process is not in a session of its user ({'/'.join(around)})"
    return None


def _ask(name: str, around: tuple[str, ...]) -> str | None:
    """Asks the service manager for a scope with this process in it; what went wrong."""
    busctl = shutil.which("busctl")
    if busctl is None:
        return "there is no busctl to ask systemd with"
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
            env=_with_bus(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"systemd could not be asked for a scope ({error})"
    if done.returncode:
        return f"systemd grants no scope ({done.stderr.strip() or 'it does not say why'})"
    return None


def _with_bus() -> dict[str, str]:
    """Returns the environment, with the way to the user's service manager where nobody set it."""
    return {"XDG_RUNTIME_DIR": f"/run/user/{os.geteuid()}", **os.environ}


def _step_aside(here: Hierarchy) -> Hierarchy | NoGround:
    """Moves this process into a group within its scope: one with members hands nothing down."""
    leaf = here.own / "grader"
    try:
        leaf.mkdir()
        write(leaf / "cgroup.procs", os.getpid())
    except OSError as error:
        return NoGround(f"the scope of systemd may not be divided ({error})")
    return Hierarchy(here.version, here.controllers, here.mount, leaf)
