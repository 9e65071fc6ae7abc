"""The process that fork servers are forked from: torch is loaded once for all, and no secret is.

It obeys the grader over one socket: each message is an order that comes with the descriptors of
one more fork server. When nobody is left to hang up, it ends; fork servers end with their own.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from grader.worker.caretaker import remove_group, take_care
from grader.worker.fork_server import warm_up
from grader.worker.huge_pages import collapse_memory

_MESSAGE = 1 << 16
_DESCRIPTORS = 3


def main(settings: str) -> None:
    """Warms up, then forks fork servers until nobody is there to ask for one.

    They were killed then, all that it served: what they would have removed, it removes.
    """
    told = json.loads(settings)
    control = socket.socket(fileno=told["control"])
    not_preloaded = warm_up(told["preload"], told["granted"])
    if told["many"]:
        collapse_memory()
    signal.signal(signal.SIGCHLD, lambda *_: _reap(os.WNOHANG))
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, _MESSAGE, _DESCRIPTORS)
        if not message:
            break
        order = json.loads(message)
        if os.fork() == 0:
            control.close()
            _become_one(order | {"home": told["home"]}, descriptors, not_preloaded)
        for descriptor in descriptors:
            os.close(descriptor)
    _reap()
    # No worker is ever forked from a process that has it.
    from grader.core.scratch import remove_scratch

    remove_scratch(Path(told["home"]))
    for group in told["groups"]:
        remove_group(Path(group))


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
    """Is a fork server and its caretaker, in a session and with a home of their own."""
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
