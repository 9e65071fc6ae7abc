"""Attempts to reach others' files, processes, networks and identities, or to signal to them."""

from __future__ import annotations

import contextlib
import ctypes
import os
import socket
import subprocess
import tempfile
from pathlib import Path

import torch

LIBC = ctypes.CDLL(None, use_errno=True)
SHARED = Path(os.__file__)
_ALL_EVENTS, _NONBLOCK = 0xFFF, 0o4000


def run_add(x: torch.Tensor) -> torch.Tensor:
    return x + x


def run_read_the_system() -> bool:
    with Path("/etc/passwd").open() as file:
        return bool(file.read(1))


def run_read_beside() -> bool:
    with Path("../beside.txt").open() as file:
        return file.read() == "secret"


def run_write_elsewhere() -> bool:
    with Path(__file__).with_name("written.txt").open("w") as file:
        return file.write("here") > 0


def run_write_scratch() -> bool:
    with tempfile.TemporaryFile() as file:
        return file.write(b"here") > 0


def run_fork() -> bool:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return True


def run_execute() -> bool:
    return subprocess.run(["/bin/true"], check=False).returncode == 0


def run_internet() -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM):
        return True


def run_unix() -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM):
        return True


def run_signal_parent() -> bool:
    os.kill(os.getppid(), 0)
    return True


def run_watch() -> bool:
    """Watches shared folders, and the folder that holds its own, with inotify(7)."""
    watch = LIBC.inotify_init1(_NONBLOCK)
    for folder in (SHARED.parent, Path(tempfile.gettempdir()).parent, Path.cwd().parent):
        LIBC.inotify_add_watch(watch, os.fsencode(folder), _ALL_EVENTS)
    SHARED.read_bytes()
    list(Path().iterdir())
    return watch >= 0 and len(os.read(watch, 4096)) > 0


def run_environment() -> bool:
    return "GRADER_PROBE" in os.environ


def run_privileges() -> bool:
    os.setuid(os.getuid() + 1)
    return True


def run_size_of_a_file_elsewhere() -> bool:
    return Path("/etc/passwd").stat().st_size > 0


def run_other_processes() -> bool:
    """Looks for processes with ids close to its own, other than its parent."""
    near = range(max(2, os.getpid() - 300), os.getpid())
    return any(_is_there(pid) for pid in near if pid != os.getppid())


def _is_there(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return os.getsid(pid) not in (os.getsid(0), os.getsid(os.getppid()))
    return Path(f"/proc/{pid}").exists()
