"""Tries to reach files, processes, networks and identities that are not its own."""

from __future__ import annotations

import ctypes
import os
import socket
import subprocess
import tempfile
from pathlib import Path


def run_read_the_system() -> bool:
    with Path("/etc/passwd").open() as file:
        return bool(file.read(1))


def run_read_beside() -> bool:
    with Path("../beside.txt").open() as file:
        return file.read() == "secret"


def run_write_elsewhere() -> bool:
    with Path(__file__).with_name("written.txt").open("w") as file:
        return file.write("here") > 0


def run_write_where_it_runs() -> bool:
    with Path("written.txt").open("w") as file:
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


def run_trace_parent() -> bool:
    attach = 16
    return bool(ctypes.CDLL(None).ptrace(attach, os.getppid(), 0, 0) == 0)


def run_change_mode() -> bool:
    with tempfile.NamedTemporaryFile() as file:
        Path(file.name).chmod(0o777)
        return True


def run_environment() -> bool:
    return "GRADER_PROBE" in os.environ


def run_privileges() -> bool:
    os.setuid(os.getuid() + 1)
    return True
