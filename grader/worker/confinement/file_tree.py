"""A file tree of the workers' own: what they need is in it, and nothing else can even be named."""

from __future__ import annotations

import contextlib
from pathlib import Path

from grader.worker.confinement.filesystem import readable_by_all
from grader.worker.confinement.mounts import (
    change_root,
    keep_to_itself,
    lay_out,
    make_read_only,
    mount_memory,
    mount_processes,
    show,
)
from grader.worker.confinement.namespaces import enter_mount_namespace

_SKELETON = 4 << 20  # bytes: it holds nothing but folders and links
_FOLDERS = 4096


def enter_file_tree(scratch: Path) -> bool:
    """Whether this process, and all that it forks, sees nothing but what every worker may read.

    Beside that it sees `scratch`, below which submissions lie. Nothing can be written anywhere.
    Where mounts are not granted, everything stays as it is.
    """
    root = scratch / "root"
    try:
        root.mkdir(exist_ok=True)
        if not enter_mount_namespace():
            return False
        _enter(root, scratch)
    except OSError:
        return False
    return True


def _enter(root: Path, scratch: Path) -> None:
    keep_to_itself()
    mount_memory(root, _SKELETON, _FOLDERS, 0o755)
    own_processes = root / "proc"
    own_processes.mkdir()
    # Libraries look for themselves there. A container that hides parts of it has none made anew.
    with contextlib.suppress(OSError):
        mount_processes(own_processes)
    lay_out(root, readable_by_all())
    at = root / scratch.relative_to("/")
    at.mkdir(parents=True, exist_ok=True)
    # Not with the mounts below it: this very tree is one of them.
    show(scratch, at, with_mounts=False)
    with contextlib.suppress(OSError):  # before Linux 5.12: file modes and Landlock still hold
        make_read_only(root)
    change_root(root)


def enter_own_scratch(scratch: Path, size: int, files: int) -> bool:
    """Whether an empty folder of so many bytes and files lies at `scratch`, for this process alone.

    It vanishes with the process. What is written there is in memory.
    """
    try:
        if not enter_mount_namespace():
            return False
        mount_memory(scratch, size, files, 0o700)
    except OSError:
        return False
    return True
