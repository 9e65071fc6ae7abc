"""Files: Landlock lets a worker read what Python needs and write to its scratch folder."""

from __future__ import annotations

import contextlib
import functools
import site
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

if sys.platform == "linux":
    from landlockpy import AccessFS, LandlockError, Ruleset, Scope, abi_version

    # Asked before the fork: the first question looks for libc with the help of other programs.
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

# Shared libraries, and where the loader finds them.
_LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache")
# What numeric libraries ask about the machine; nothing about its processes or users.
_MACHINE = ("/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/sys/devices/system/cpu")
_SOURCES_OF_BYTES = ("/dev/urandom", "/dev/random")
_NOWHERE = Path("/dev/null")
_TIME_ZONES = "/usr/share/zoneinfo"


def prepare_files() -> None:
    """Finds ahead of the fork what every worker may read."""
    _of_the_interpreter()


def readable_by_all() -> list[Path]:
    """The files and folders that every worker may read."""
    return [*(path for path, _ in _of_the_interpreter()), _NOWHERE]


def restrict_files(readable: Sequence[Path], writable: Path, devices: Sequence[Path]) -> str:
    """Allows `readable` and the interpreter to be read, `writable` to be written, nothing else.

    What drives the `devices` is allowed as well.

    Where the kernel can (Landlock ABI 6), signals and abstract sockets stay inside too.
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
    """The standard library, installed packages, shared libraries, and facts about the machine."""
    paths = sysconfig.get_paths()
    found = {paths[key] for key in ("stdlib", "platstdlib", "purelib", "platlib")}
    found |= {*site.getsitepackages(), site.getusersitepackages()}
    found |= {str(Path(sys.base_prefix) / "lib")}
    found |= {*_LIBRARIES, *_MACHINE, *_SOURCES_OF_BYTES, _TIME_ZONES}
    return tuple(_looked_at(Path(path)) for path in sorted(found))


def _looked_at(path: Path) -> tuple[Path, bool]:
    """A path, and whether it is a folder; not where this may not be known."""
    try:
        return path, path.is_dir()
    except PermissionError:
        return path, False
