"""The process that fork servers are forked from, and the reaper around each of them.

It holds nothing, runs nothing of a submission, and stays when everything else was killed: what the
job would have removed in the end, it removes then.

It obeys the grader over one socket: each message is an order that comes with the descriptors of
one more fork server. When nobody is left to hang up, it ends; fork servers end with their own.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from grader.core.processes import end_with_parent
from grader.worker.confinement.identity import enter_process_namespace
from grader.worker.fork_server import serve_judges, warm_up

_MADV_COLLAPSE = 25
_SIZE = 2 << 20


def collapse_memory() -> None:
    """Has the kernel put this process's private memory into pages of 2 MB, where it can.

    A fork copies the table of its pages, not their contents: of large ones there are 512 times
    fewer. A kernel that does not know how to leaves everything as it is.
    """
    if sys.platform != "linux":
        return
    madvise = ctypes.CDLL(None).madvise
    madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    for line in Path("/proc/self/maps").read_text().splitlines():
        place, rights, _, _, inode, *name = line.split(maxsplit=5)
        if rights == "rw-p" and inode == "0" and name in ([], ["[heap]"]):
            start, end = (int(address, 16) for address in place.split("-"))
            first, last = -(-start // _SIZE) * _SIZE, end // _SIZE * _SIZE
            if first < last:
                madvise(first, last - first, _MADV_COLLAPSE)


# Whoever was killed closes all that it had; a job that lost a fork server alone lives on.
_SECONDS_TO_END = 1.0


def take_care(
    order: Mapping[str, Any],
    control: socket.socket,
    life: int,
    not_preloaded: Mapping[str, str],
) -> None:
    """Forks the fork server that the order describes, and stays until it has ended.

    Over `control`, who this is is said, and the fork server is told what to do. `life` is a pipe:
    it ends with a word of those who hold it, or without one if they were killed.
    """
    control.send(json.dumps({"reaper": os.getpid()}).encode())
    namespaces = enter_process_namespace() if order["namespaces"] else []
    number = os.getpid()
    pid = os.fork()
    if pid == 0:
        os.close(life)
        _be_fork_server(order, control, number, namespaces, not_preloaded)
    control.close()
    signal.signal(signal.SIGTERM, lambda *_: _kill(pid))
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        print(f"it was ended by {signal.Signals(os.WTERMSIG(status)).name}", file=sys.stderr)
    if _were_killed(life):
        # No worker is ever forked from a process that has it.
        from grader.core.scratch import remove_scratch

        remove_scratch(Path(order["scratch"]))
        for ground in order["groups"]:
            for group in Path(ground).glob(f"{order['prefix']}*"):
                remove_group(group)
    os._exit(0 if status == 0 else 1)


def _be_fork_server(
    order: Mapping[str, Any],
    control: socket.socket,
    number: int,
    namespaces: list[str],
    not_preloaded: Mapping[str, str],
) -> None:
    try:
        end_with_parent()
        serve_judges(order, control, number, namespaces, not_preloaded)
    except BaseException as error:
        # The last line is what the judge tells.
        said = " ".join(str(error).split())
        print(f"{type(error).__name__}: {said}", file=sys.stderr)
    finally:
        os._exit(1)


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _were_killed(life: int) -> bool:
    """Returns whether those who hold the other end of a pipe ended without a word."""
    readable, _, _ = select.select([life], [], [], _SECONDS_TO_END)
    return bool(readable) and not os.read(life, 1)


def remove_group(folder: Path) -> bool:
    """Removes a control group and those in it, if no process is left there; whether it is gone."""
    with contextlib.suppress(OSError):
        for inner in [one for one in folder.iterdir() if one.is_dir()]:
            remove_group(inner)
        folder.rmdir()
    return not folder.exists()


_MESSAGE = 1 << 16
_DESCRIPTORS = 3


def main(settings: str) -> None:
    """Loads torch, warms up as it is told, forks fork servers until nobody is there to ask for one.

    They were killed then, all that it served: what they would have removed, it removes.
    """
    told = json.loads(settings)
    control = socket.socket(fileno=told["control"])
    gc.disable()  # modules leave no garbage worth looking for, which would take a third of the time
    importlib.import_module("torch")  # while others find out what to warm up for
    if order := control.recv(_MESSAGE):
        _serve(control, told["home"], **json.loads(order))
    _reap()
    # No worker is ever forked from a process that has it.
    from grader.core.scratch import remove_scratch

    remove_scratch(Path(told["home"]))
    for group in told["groups"]:
        remove_group(Path(group))


def _serve(
    control: socket.socket,
    home: str,
    preload: Sequence[str],
    granted: Sequence[str],
    several: bool,
    many: bool,
) -> None:
    """Warms up, then forks a fork server for each order, until nobody gives one."""
    not_preloaded = warm_up(preload, granted, several)
    if many:
        collapse_memory()
    signal.signal(signal.SIGCHLD, lambda *_: _reap(os.WNOHANG))
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, _MESSAGE, _DESCRIPTORS)
        if not message:
            return
        order = json.loads(message)
        if os.fork() == 0:
            control.close()
            _become_one(order | {"home": home}, descriptors, not_preloaded)
        for descriptor in descriptors:
            os.close(descriptor)


def _move(home: str, scratch: str) -> None:
    """Makes a folder this process's home; what libraries noted of the old one is forgotten."""
    os.chdir(scratch)
    for name in [name for name, value in os.environ.items() if home in value]:
        del os.environ[name]
    os.environ["HOME"] = os.environ["TMPDIR"] = scratch
    tempfile.tempdir = None


def _reap(options: int = 0) -> None:
    """Takes leave of those that have ended, or waits until all have."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, options)[0]:
            continue


def _become_one(
    order: Mapping[str, Any], descriptors: Sequence[int], not_preloaded: Mapping[str, str]
) -> None:
    """Is a fork server and its reaper, in a session and with a home of their own."""
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()
        control, life, complaints = descriptors
        os.dup2(complaints, sys.stderr.fileno())
        os.close(complaints)
        _move(order["home"], order["scratch"])
        take_care(order, socket.socket(fileno=control), life, not_preloaded)
    finally:
        os._exit(1)
