"""As whom the corpus is graded: root, an ordinary user, root of a container without rights."""

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
# Of another user's run, what depends on whose processes and files they are.
DEPENDS_ON_USER = (
    *("kill", "stop", "signal", "limits", "fork", "orphan", "thread_bomb", "memory_in_shm"),
    *("priority", "memory_shared_and_forgotten", "memory_of_page_tables", "disk_in_closed"),
    "disk_unlinked_and_mapped",
)
ABOUT_LIMITS = (
    *("memory", "disk", "folders", "thread", "priority", "limits", "descriptor", "output"),
    *("loop_in_many", "loop_sleeping", "signal_of_death", "fork_bomb", "locks", "watches"),
)
# What Docker leaves to root in a container.
_LEFT = (
    "chown,dac_override,fowner,fsetid,kill,setgid,setuid,setpcap,net_bind_service,net_raw,"
    "sys_chroot,mknod,audit_write,setfcap"
)
# Where control groups could be found, or somebody who makes them.
_HIDDEN = ("/sys/fs/cgroup", "/run/systemd", "/run/dbus", "/run/user")


@dataclass(frozen=True)
class Rank:
    """What a command is run by, who then owns the files, and which samples are handed in.

    They are explained, too, unless it does `without_words`.
    """

    prefix: Sequence[str]
    owner: int | None
    wanted: Callable[[str], bool]
    without_words: bool = False


def rank(name: str, root: Path, user: int = NOBODY) -> Rank:
    """The rank that is called so; skips the test where this machine does not have it.

    Mount points that it needs are made below `root`. As root, `user` is the ordinary one.
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
        return True  # somewhere they have to be explained
    return kind == "spies" or sample.startswith(("search", "frames_on", "link", "unreadable"))


def _in_a_container() -> list[str]:
    """What runs a command as root without what containers take: namespaces, mounts, groups."""
    steps = ["set -e"]
    for place in filter(os.path.isdir, _HIDDEN):
        steps += [f"mount -t tmpfs -o mode=755 none {place}"]
    few = ",".join(["-all", *(f"+{name}" for name in _LEFT.split(","))])
    become = f"exec setpriv --bounding-set {few} --inh-caps -all"
    refusing = Path(__file__).with_name("refusing.py")
    script = "\n".join([*steps, f'{become} {sys.executable} {shlex.quote(str(refusing))} "$@"'])
    return _tried(["unshare", "--mount", "sh", "-c", script, "sh"])


def _as_user(root: Path, user: int) -> list[str]:
    """What runs a command as an ordinary user, who sees the interpreter and the engine.

    Where these lie in folders of root's own, they are shown in a mount namespace, and only there.
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
    """The topmost folder above a path that others may not pass."""
    for folder in [*reversed(path.parents), path]:
        if folder.stat().st_mode & 0o005 != 0o005:
            return folder
    return None
