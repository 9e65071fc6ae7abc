"""The process around a fork server: it gives it process ids of its own, and clears up after it.

It holds nothing, runs nothing of a submission, and stays when everything else was killed: what the
job would have removed in the end, it removes then.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from grader.core.parentage import end_with_parent
from grader.worker.confinement.namespaces import enter_process_namespace
from grader.worker.fork_server import serve_judges

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
    control.send(json.dumps({"caretaker": os.getpid()}).encode())
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
    """Whether those who hold the other end of a pipe ended without a word."""
    readable, _, _ = select.select([life], [], [], _SECONDS_TO_END)
    return bool(readable) and not os.read(life, 1)


def remove_group(folder: Path) -> bool:
    """Removes a control group and those in it, if no process is left there; whether it is gone."""
    with contextlib.suppress(OSError):
        for inner in [one for one in folder.iterdir() if one.is_dir()]:
            remove_group(inner)
        folder.rmdir()
    return not folder.exists()
