"""Confinement of files: Landlock, and a file tree of the workers' own that hides all others."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import platform
import site
import sys
import sysconfig
from collections.abc import Iterable, Sequence
from pathlib import Path

from grader.worker.confinement.identity import enter_mount_namespace

if sys.platform == "linux":
    from landlockpy import AccessFS, LandlockError, Ruleset, Scope, abi_version

    # Called before the fork: the first call runs other programs to find libc.
    with contextlib.suppress(LandlockError):
        abi_version()

    _LOOK = AccessFS.READ_FILE | AccessFS.READ_DIR
    _DRIVE = AccessFS.READ_FILE | AccessFS.WRITE_FILE | AccessFS.IOCTL_DEV
    _CHANGE = (
        _LOOK
        | AccessFS.WRITE_FILE
        | AccessFS.TRUNCATE
        | AccessFS.MAKE_REG
        | AccessFS.MAKE_DIR
        | AccessFS.MAKE_SYM
        | AccessFS.REMOVE_FILE
        | AccessFS.REMOVE_DIR
        | AccessFS.REFER
    )

# Shared libraries, and the cache in which the loader finds them.
_LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache")
# Facts on the machine that numeric libraries read; nothing on its processes or users.
_MACHINE = ("/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/sys/devices/system/cpu")
_SOURCES_OF_BYTES = ("/dev/urandom", "/dev/random")
_NOWHERE = Path("/dev/null")
_TIME_ZONES = "/usr/share/zoneinfo"


def readable_by_all() -> list[Path]:
    """Returns the files and folders that every worker may read."""
    return [*(path for path, _ in _of_the_interpreter()), _NOWHERE]


def restrict_files(readable: Sequence[Path], writable: Path, devices: Sequence[Path]) -> str:
    """Allows `readable` and the interpreter to be read, `writable` to be written, nothing else.

    The files of `devices` may be read, written and controlled.

    From Landlock ABI 6 on, signals and abstract sockets reach no other process either.
    """
    if sys.platform != "linux":
        return "none"
    try:
        with Ruleset(scoped=Scope.SIGNAL | Scope.ABSTRACT_UNIX_SOCKET) as rules:
            for path, is_folder in (*_of_the_interpreter(), *map(_looked_at, readable)):
                with contextlib.suppress(FileNotFoundError, PermissionError):
                    rules.allow_path(path, _LOOK if is_folder else AccessFS.READ_FILE)
            rules.allow_path(_NOWHERE, AccessFS.READ_FILE | AccessFS.WRITE_FILE)
            for path in devices:
                rules.allow_path(path, _DRIVE)
            rules.allow_path(writable, _CHANGE)
            rules.restrict()
            return f"landlock {rules.abi_version}"
    except LandlockError:
        return "none"


@functools.cache
def _of_the_interpreter() -> tuple[tuple[Path, bool], ...]:
    """Returns the paths of the standard library, packages, shared libraries and machine facts."""
    paths = sysconfig.get_paths()
    found = {paths[key] for key in ("stdlib", "platstdlib", "purelib", "platlib")}
    found |= {*site.getsitepackages(), site.getusersitepackages()}
    found |= {str(Path(sys.base_prefix) / "lib")}
    found |= {*_LIBRARIES, *_MACHINE, *_SOURCES_OF_BYTES, _TIME_ZONES}
    return tuple(_looked_at(Path(path)) for path in sorted(found))


def _looked_at(path: Path) -> tuple[Path, bool]:
    """Returns a path and whether it is a folder; False where this process may not know."""
    try:
        return path, path.is_dir()
    except PermissionError:
        return path, False


_NO_SET_USER_IDS, _NO_DEVICES, _NO_PROGRAMS = 0x2, 0x4, 0x8
_BIND, _RECURSIVE, _PRIVATE = 0x1000, 0x4000, 0x40000
_DETACH = 0x2
_OPTIONS_OF_A_MOUNT = 442  # mount_setattr, the same on every architecture
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_AT_RECURSIVE = 0x8000
_READ_ONLY_ATTRIBUTE = 0x1


_LIBC = ctypes.CDLL(None, use_errno=True)


class _Attributes(ctypes.Structure):
    """`struct mount_attr` (mount_setattr(2))."""

    _fields_ = (
        ("set", ctypes.c_uint64),
        ("clear", ctypes.c_uint64),
        ("propagation", ctypes.c_uint64),
        ("user_namespace", ctypes.c_uint64),
    )


def _mount_memory(folder: Path, size: int, files: int, mode: int) -> None:
    """Mounts an empty tmpfs of at most `size` bytes and `files` files over `folder`.

    Its owner is the owner of `folder`.
    """
    owner = folder.stat()
    options = f"size={size},nr_inodes={files},uid={owner.st_uid},gid={owner.st_gid},mode={mode:o}"
    _mount("grader", folder, "tmpfs", _NO_SET_USER_IDS | _NO_DEVICES, options)


def _lay_out(root: Path, places: Iterable[Path]) -> None:
    """Shows the files and folders at `places` below `root` at the same paths, links included.

    Places that exist already are left unchanged.
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
        _mount(os.fspath(place), at, None, _BIND | _RECURSIVE)
        shown.append(place)


def _behind_links(root: Path, path: Path) -> Path:
    """Returns the target of a path; makes the links on the way below `root` as well."""
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


def _mount(source: str, target: Path, kind: str | None, flags: int, options: str = "") -> None:
    _checked(
        _LIBC.mount(
            os.fsencode(source),
            os.fsencode(target),
            kind.encode() if kind else None,
            ctypes.c_ulong(flags),
            options.encode(),
        )
    )


def _checked(result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


_SKELETON = 4 << 20  # bytes; the root holds only folders and links
_FOLDERS = 4096


def enter_file_tree(scratch: Path) -> bool:
    """Confines this process and its forks to a file tree of their own; returns whether it could.

    The tree holds the files that every worker may read, and `scratch`, below which submissions lie.
    Nothing in it can be written. Where mounts are not granted, nothing changes.
    """
    root, pivot_root = scratch / "root", _PIVOT_ROOT.get(platform.machine())
    if pivot_root is None:
        return False
    try:
        root.mkdir(exist_ok=True)
        if not enter_mount_namespace():
            return False
        _fill(root, scratch)
        os.chdir(root)
        _checked(_LIBC.syscall(ctypes.c_long(pivot_root), b".", b"."))
        _checked(_LIBC.umount2(b".", _DETACH))  # the old root can no longer be reached
        os.chdir("/")
    except OSError:
        return False
    return True


def _fill(root: Path, scratch: Path) -> None:
    """Mounts the tree at `root`, hidden from other mount namespaces."""
    _mount("none", Path("/"), None, _RECURSIVE | _PRIVATE)
    _mount_memory(root, _SKELETON, _FOLDERS, 0o755)
    own_processes = root / "proc"
    own_processes.mkdir()
    # Libraries read /proc/self. A container that masks parts of /proc grants no new mount of it.
    with contextlib.suppress(OSError):
        _mount("proc", own_processes, "proc", _NO_SET_USER_IDS | _NO_DEVICES | _NO_PROGRAMS)
    _lay_out(root, readable_by_all())
    at = root / scratch.relative_to("/")
    at.mkdir(parents=True, exist_ok=True)
    # Without the mounts below it: this very tree is one of them.
    _mount(os.fspath(scratch), at, None, _BIND)
    attributes = _Attributes(set=_READ_ONLY_ATTRIBUTE)
    told = os.fsencode(root), _AT_RECURSIVE, ctypes.byref(attributes), ctypes.sizeof(attributes)
    with contextlib.suppress(OSError):  # before Linux 5.12: file modes and Landlock still hold
        _checked(_LIBC.syscall(ctypes.c_long(_OPTIONS_OF_A_MOUNT), -1, *told))


def enter_own_scratch(scratch: Path, size: int, files: int) -> bool:
    """Mounts an empty tmpfs over `scratch` for this process alone; returns whether it could.

    It vanishes with the process. Its files are held in memory.
    """
    try:
        if not enter_mount_namespace():
            return False
        _mount_memory(scratch, size, files, 0o700)
    except OSError:
        return False
    return True
