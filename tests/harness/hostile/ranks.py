"""The ranks at which the corpus is graded: root, an ordinary user, root in a container."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.harness.hostile.staging import ENGINE, expectations

NOBODY = 65534
# Nuisances whose effect depends on the owner of processes and files.
DEPENDS_ON_USER = (
    *("kill", "stop", "signal", "limits", "fork", "orphan", "thread_bomb", "memory_in_shm"),
    *("priority", "memory_shared_and_forgotten", "memory_of_page_tables", "disk_in_closed"),
    "disk_unlinked_and_mapped",
)
ABOUT_LIMITS = (
    *("memory", "disk", "folders", "thread", "priority", "limits", "descriptor", "output"),
    *("loop_in_many", "loop_sleeping", "signal_of_death", "fork_bomb", "locks", "watches"),
)
# The capabilities that Docker leaves to root in a container.
_LEFT = (
    "chown,dac_override,fowner,fsetid,kill,setgid,setuid,setpcap,net_bind_service,net_raw,"
    "sys_chroot,mknod,audit_write,setfcap"
)
# Folders of control groups, and of services that create them.
_HIDDEN = ("/sys/fs/cgroup", "/run/systemd", "/run/dbus", "/run/user")


@dataclass(frozen=True)
class Rank:
    """How a command is run, which user owns the files, and which samples are handed in.

    `without_words` runs the batch without explanations.
    """

    prefix: Sequence[str]
    owner: int | None
    wanted: Callable[[str], bool]
    without_words: bool = False


def rank(name: str, root: Path, user: int = NOBODY) -> Rank:
    """Returns the rank of that name, or skips the test if this machine does not allow it.

    Mount points are made below `root`. If this process is root, `user` is the ordinary user.
    """
    superuser = os.geteuid() == 0
    if name == "an ordinary user":
        if not superuser:
            return Rank([], None, lambda _: True)
        return Rank(_as_user(root, user), user, _tells_users_apart)
    if not superuser:
        pytest.skip("these tests do not run as root")
    if name == "root":
        return Rank([], None, lambda _: True, without_words=True)
    return Rank(
        _in_a_container(), None, lambda sample: sample.startswith((*ABOUT_LIMITS, "access_times"))
    )


def _tells_users_apart(sample: str) -> bool:
    kind = expectations()[sample].kind
    if kind == "nuisances":
        return sample.startswith(DEPENDS_ON_USER)
    if kind == "forgeries" and len(sample) % 2:
        return True  # some forgeries need explanations, too
    return kind == "spies" or sample.startswith(("search", "frames_on", "link", "unreadable"))


def _in_a_container() -> list[str]:
    """Returns a prefix that runs a command as root without namespaces, mounts and groups."""
    steps = ["set -e"]
    for place in filter(os.path.isdir, _HIDDEN):
        steps += [f"mount -t tmpfs -o mode=755 none {place}"]
    few = ",".join(["-all", *(f"+{name}" for name in _LEFT.split(","))])
    become = f"exec setpriv --bounding-set {few} --inh-caps -all"
    refusing = Path(__file__).with_name("refusing.py")
    script = "\n".join([*steps, f'{become} {sys.executable} {shlex.quote(str(refusing))} "$@"'])
    return _tried(["unshare", "--mount", "sh", "-c", script, "sh"])


def _as_user(root: Path, user: int) -> list[str]:
    """Returns a prefix that runs a command as a user who can read interpreter and engine.

    If they are in folders that only root may enter, a mount namespace shows them to the command.
    """
    shown = {Path(sys.base_prefix).resolve(), Path(sys.prefix).resolve(), ENGINE.resolve()}
    shown = {path for path in shown if not shown & set(path.parents)}
    closed = {top for path in shown if (top := _closed(path)) is not None}
    steps, kept = ["set -e"], root / "shown"
    for number, path in enumerate(sorted(shown)):
        place = kept / str(number)
        steps += [f"mkdir -p {shlex.quote(str(place))}"]
        steps += [f"mount --rbind {shlex.quote(str(path))} {shlex.quote(str(place))}"]
    for top in sorted(closed):
        steps += [f"mount -t tmpfs -o mode=755 none {shlex.quote(str(top))}"]
    for number, path in enumerate(sorted(shown)):
        if any(top in path.parents for top in closed):
            steps += [f"mkdir -p {shlex.quote(str(path))}"]
            steps += [f"mount --rbind {kept / str(number)} {shlex.quote(str(path))}"]
        steps += [f"umount -l {kept / str(number)}"]
    become = f"exec setpriv --reuid {user} --regid {user} --clear-groups"
    script = "\n".join([*steps, f'{become} "$@"'])
    return _tried(["unshare", "--mount", "sh", "-c", script, "sh"])


def _tried(prefix: list[str]) -> list[str]:
    works = subprocess.run(
        [*prefix, sys.executable, "-c", "import torch, grader"], capture_output=True
    )
    if works.returncode != 0:
        pytest.skip(f"the grader does not run so here: {works.stderr.decode()[-200:]}")
    return prefix


def _closed(path: Path) -> Path | None:
    """Returns the topmost folder on a path that other users may not enter."""
    for folder in [*reversed(path.parents), path]:
        if folder.stat().st_mode & 0o005 != 0o005:
            return folder
    return None
