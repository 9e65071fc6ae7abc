"""The process that takes submissions in: where what strangers wrote is unpacked and parsed.

`IntakeClient` starts it with one end of a socket. An order is a line of JSON: its id, the
entry, the folder to copy it into, where its adapters lie, whether only its needs are asked. It is
answered by two lines: that it has begun, and what came of it. What one order may cost is bounded:
a process that takes more dies of it, or says so, and the next order goes to a new one.
"""

from __future__ import annotations

import json
import resource
import signal
import socket
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from grader.core.processes import end_with_parent, limit_memory_growth
from grader.core.submission import Submission, Unreadable
from grader.intake.copying.limits import MIB, Bounds
from grader.intake.copying.private_copy import CopyFailed
from grader.intake.entry import Entry
from grader.intake.programs.needs import read_needs
from grader.intake.staging import take_in

_MOST_KEPT = 256 * MIB  # memory that a process may have held and stay; most need a tenth


def main(descriptor: int, parent: int, bounds: Bounds) -> None:
    """Takes in what it is asked to, until whoever asks hangs up or too much was held."""
    serve(descriptor, parent, bounds, _outcome)


def serve(
    descriptor: int,
    parent: int,
    bounds: Bounds,
    outcome: Callable[[Mapping[str, Any]], dict[str, Any]],
) -> None:
    """Answers orders with what comes of them, until whoever asks hangs up or too much was held."""
    end_with_parent(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _bound(bounds)
    with socket.socket(fileno=descriptor) as channel, channel.makefile("rb") as orders:
        for line in orders:
            order = json.loads(line)
            # Whoever asks keeps the exact time. This timer ends a process that nobody looks at; it
            # counts by ticks, which run ahead where processors are lent to other machines too.
            signal.setitimer(signal.ITIMER_PROF, 2 * bounds.processor_seconds)
            try:
                channel.sendall(_as_line({"begun": order["id"]}))
                channel.sendall(_as_line({"id": order["id"]} | outcome(order)))
            except ConnectionError:
                return
            if _most_held() > _MOST_KEPT:
                return


def _outcome(order: Mapping[str, Any]) -> dict[str, Any]:
    """Carries out an order; returns the submission, or the reason why there is none."""
    try:
        submission = take_in(
            Entry.from_json(order["entry"]), Path(order["into"]), order["adapters"]
        )
    except Unreadable as problem:
        return {"unreadable": str(problem)}
    except ValueError as problem:  # of the adapters' place, which no submission says
        return {"failed": str(problem)}
    except CopyFailed as problem:
        # There is memory as long as there is some within the bound.
        is_bound = isinstance(problem.__cause__, MemoryError)
        return {"too large": True} if is_bound else {"failed": str(problem)}
    if order["survey"]:
        return _needs(submission)
    return {"submission": submission.as_json()}


def _needs(submission: Submission) -> dict[str, Any]:
    """Returns the needs of a submission, as far as its files can be read."""
    try:
        return {"needs": read_needs(submission).as_json()}
    except MemoryError:
        return {"too large": True}
    except Exception:  # strangers wrote all of it
        return {"unreadable": "what it imports cannot be read"}


def _as_line(answer: dict[str, Any]) -> bytes:
    return json.dumps(answer).encode() + b"\n"


def _bound(bounds: Bounds) -> None:
    """Bounds memory, files and what is left of a crash, as far as no tighter bound is inherited."""
    _set_limit(resource.RLIMIT_CORE, 0)
    _set_limit(resource.RLIMIT_FSIZE, bounds.file)
    _set_limit(resource.RLIMIT_NOFILE, 256)
    if sys.platform == "linux":
        mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        _set_limit(resource.RLIMIT_AS, mapped + bounds.memory)
        limit_memory_growth(bounds.memory)


def _set_limit(which: int, value: int) -> None:
    """Sets the limit that holds; the one up to which it may be raised again stays."""
    most = resource.getrlimit(which)[1]
    resource.setrlimit(which, (value if most < 0 else min(value, most), most))


def _most_held() -> int:
    """Returns the bytes of memory that this process has ever held at once (Linux; elsewhere 0)."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM:")), 0)
