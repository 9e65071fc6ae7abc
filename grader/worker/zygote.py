"""The process that forks fork servers, and the reaper around each of them.

The zygote holds no secrets, runs no code of a submission, and survives when all else is killed. It
then removes the files that the job would have removed in the end.

It obeys the grader over one socket: each message orders one more fork server, and carries its
descriptors. The zygote ends when all other ends of the socket are closed; a fork server ends with
the process that ordered it.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import itertools
import json
import os
import select
import signal
import socket
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from grader.core.processes import end_with_parent, signal_name
from grader.worker.confinement.identity import enter_process_namespace
from grader.worker.fork_server import serve_judges, warm_up

# For a killed job to close the pipe; a job that only lost a fork server keeps it open.
_SECONDS_TO_END = 1.0


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _were_killed(farewell: int) -> bool:
    """Returns whether the holders of a pipe's other end ended without a farewell."""
    readable, _, _ = select.select([farewell], [], [], _SECONDS_TO_END)
    return bool(readable) and not os.read(farewell, 1)


_LONGEST_MESSAGE = 1 << 16
_DESCRIPTORS = 3


def main(settings: str) -> None:
    """Loads torch, warms up as ordered, and forks fork servers until the socket is closed.

    Then removes the files of processes that were killed.
    """
    given = json.loads(settings)
    control = socket.socket(fileno=given["control"])
    gc.disable()  # imports leave no garbage, yet looking for it takes a third of their time
    importlib.import_module("torch")  # while the grader determines the order to warm up
    if order := control.recv(_LONGEST_MESSAGE):
        _serve(control, given["home"], **json.loads(order))
    _reap()
    _remove_what_is_left(given["home"], map(Path, given["groups"]))


def _serve(
    control: socket.socket,
    home: str,
    preload: Sequence[str],
    granted: Sequence[str],
    several: bool,
) -> None:
    """Warms up, then forks a fork server for each order, until the socket is closed."""
    not_preloaded = warm_up(preload, granted, several)
    signal.signal(signal.SIGCHLD, lambda *_: _reap(os.WNOHANG))
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, _LONGEST_MESSAGE, _DESCRIPTORS)
        if not message:
            return
        order = json.loads(message)
        if os.fork() == 0:
            control.close()
            _become_reaper(order, home, descriptors, not_preloaded)
        for descriptor in descriptors:
            os.close(descriptor)


def _move(home: str, scratch: str) -> None:
    """Makes a folder this process's home, and drops variables that name the old one."""
    os.chdir(scratch)
    for name in [name for name, value in os.environ.items() if home in value]:
        del os.environ[name]
    os.environ["HOME"] = os.environ["TMPDIR"] = scratch
    tempfile.tempdir = None


def _reap(options: int = 0) -> None:
    """Reaps the children that have ended, or waits for all of them."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, options)[0]:
            continue


def _become_reaper(
    order: Mapping[str, Any],
    home: str,
    descriptors: Sequence[int],
    not_preloaded: Mapping[str, str],
) -> None:
    """Becomes a reaper: forks the fork server that is ordered, and waits for its end.

    Both have a session and a home of their own. The first descriptor is a socket for the reaper's
    id and for orders to the fork server. The second is a pipe: the job's processes write a farewell
    to it, and if it closes without one, they were killed. The third is stderr.
    """
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()
        channel, farewell, stderr = descriptors
        os.dup2(stderr, sys.stderr.fileno())
        os.close(stderr)
        _move(home, order["scratch"])
        control = socket.socket(fileno=channel)
        reaper = os.getpid()
        control.send(json.dumps({"reaper": reaper}).encode())
        namespaces = enter_process_namespace() if order["namespaces"] else []
        pid = os.fork()
        if pid == 0:
            os.close(farewell)
            end_with_parent()
            serve_judges(order, control, reaper, namespaces, not_preloaded)
            return
        control.close()
        signal.signal(signal.SIGTERM, lambda *_: _kill(pid))
        _, status = os.waitpid(pid, 0)
        if os.WIFSIGNALED(status):
            print(f"it was ended by {signal_name(os.WTERMSIG(status))}", file=sys.stderr)
        if _were_killed(farewell):
            groups = (Path(ground).glob(f"{order['prefix']}*") for ground in order["groups"])
            _remove_what_is_left(order["scratch"], itertools.chain(*groups))
    except BaseException as error:
        # The judge reports the last line.
        print(f"{type(error).__name__}: {' '.join(str(error).split())}", file=sys.stderr)
    finally:
        os._exit(0)


def _remove_what_is_left(scratch: str, groups: Iterable[Path]) -> None:
    # Imported late: no worker is ever forked from a process that has this module.
    from grader.core.folders import remove_scratch

    remove_scratch(Path(scratch))
    for group in groups:
        _remove_group(group)


def _remove_group(folder: Path) -> None:
    """Removes a control group and its inner groups, as far as they are empty."""
    with contextlib.suppress(OSError):
        for inner in [one for one in folder.iterdir() if one.is_dir()]:
            _remove_group(inner)
        folder.rmdir()
