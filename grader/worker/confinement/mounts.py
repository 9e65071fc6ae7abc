"""Mounts of a process's own mount namespace (mount(2), pivot_root(2), mount_setattr(2))."""

from __future__ import annotations

import ctypes
import os
import platform
from collections.abc import Iterable
from pathlib import Path

_NO_SET_USER_IDS, _NO_DEVICES, _NO_PROGRAMS = 0x2, 0x4, 0x8
_BIND, _RECURSIVE, _PRIVATE = 0x1000, 0x4000, 0x40000
_DETACH = 0x2
_OPTIONS_OF_A_MOUNT = 442  # mount_setattr, the same on every architecture
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_AT_RECURSIVE = 0x8000
_READ_ONLY_ATTRIBUTE = 0x1


class _Attributes(ctypes.Structure):
    """`struct mount_attr` (mount_setattr(2))."""

    _fields_ = (
        ("set", ctypes.c_uint64),
        ("clear", ctypes.c_uint64),
        ("propagation", ctypes.c_uint64),
        ("user_namespace", ctypes.c_uint64),
    )


def keep_to_itself() -> None:
    """Nothing that is mounted from now on is seen in another mount namespace."""
    _mount("none", Path("/"), None, _RECURSIVE | _PRIVATE, "")


def mount_memory(folder: Path, size: int, files: int, mode: int) -> None:
    """Mounts an empty folder in memory, of so many bytes and files at most, over `folder`.

    It belongs to whom `folder` belongs to.
    """
    owner = folder.stat()
    options = f"size={size},nr_inodes={files},uid={owner.st_uid},gid={owner.st_gid},mode={mode:o}"
    _mount("grader", folder, "tmpfs", _NO_SET_USER_IDS | _NO_DEVICES, options)


def mount_processes(folder: Path) -> None:
    """Mounts what the kernel tells of the processes of this process's namespace."""
    _mount("proc", folder, "proc", _NO_SET_USER_IDS | _NO_DEVICES | _NO_PROGRAMS, "")


def show(place: Path, at: Path, with_mounts: bool = True) -> None:
    """Shows a file or folder, with what is mounted below it, at another place."""
    _mount(os.fspath(place), at, None, _BIND | _RECURSIVE if with_mounts else _BIND, "")


def make_read_only(folder: Path) -> None:
    """Nothing can be written through this mount and those below it (Linux 5.12)."""
    attributes = _Attributes(set=_READ_ONLY_ATTRIBUTE)
    _called(
        _OPTIONS_OF_A_MOUNT,
        -1,
        os.fsencode(folder),
        _AT_RECURSIVE,
        ctypes.byref(attributes),
        ctypes.sizeof(attributes),
    )


def change_root(folder: Path) -> None:
    """Makes a mounted folder the root; what was there before can no longer be reached."""
    os.chdir(folder)
    _called(_PIVOT_ROOT[platform.machine()], b".", b".")
    _checked(_libc().umount2(b".", _DETACH))
    os.chdir("/")


def lay_out(root: Path, places: Iterable[Path]) -> None:
    """Shows the files and folders at `places` below `root` at the same paths, links included.

    What is there before is left as it is.
    """
    shown: list[Path] = []
    there = [path for path in places if os.access(path, os.F_OK)]
    for place in sorted(_behind_links(root, path) for path in there):
        if any(place.is_relative_to(one) for one in shown):
            continue
        at = root / place.relative_to("/")
        if at.exists():
            continue
        if place.is_dir():
            at.mkdir(parents=True)
        else:
            at.parent.mkdir(parents=True, exist_ok=True)
            at.touch()
        show(place, at)
        shown.append(place)


def _behind_links(root: Path, path: Path) -> Path:
    """Where a path leads to; the links on the way are made below `root` as well."""
    done, left = Path("/"), list(path.parts[1:])
    while left:
        done /= left.pop(0)
        if not done.is_symlink():
            continue
        target = done.readlink()
        link = root / done.relative_to("/")
        link.parent.mkdir(parents=True, exist_ok=True)
        if not link.is_symlink():
            link.symlink_to(target)
        left = [*Path(os.path.normpath(done.parent / target)).parts[1:], *left]
        done = Path("/")
    return done


def _mount(source: str, target: Path, kind: str | None, flags: int, options: str) -> None:
    _checked(
        _libc().mount(
            os.fsencode(source),
            os.fsencode(target),
            kind.encode() if kind else None,
            ctypes.c_ulong(flags),
            options.encode(),
        )
    )


def _called(number: int, *arguments: object) -> None:
    _checked(_libc().syscall(ctypes.c_long(number), *arguments))


def _checked(result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
