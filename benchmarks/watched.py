"""Runs a command, and measures the peak memory of it and its descendants (Linux)."""

from __future__ import annotations

import contextlib
import os
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.sandbox.usage_watch import process_tree

ROOT = Path(__file__).parents[1]
_SECONDS_BETWEEN = 0.25
_MB = 1 << 20


@dataclass(frozen=True)
class Watched:
    """Seconds of wall time and processor time, and peak megabytes.

    `own` is the memory of the command's own process. `below` is that of all its descendants
    together, in which a shared page counts once.
    """

    wall: float
    cpu: float
    own: float
    below: float


def watched(command: Sequence[object], threads: int = 1) -> Watched:
    """Runs a command from the root of the repository; ends this program if it fails."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": str(threads)}
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    own = below = 0.0
    process = subprocess.Popen(
        list(map(str, command)),
        cwd=ROOT,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    while process.poll() is None:
        own = max(own, _kilobytes(process.pid, "status", "VmHWM") / 1024)
        others = [pid for pid in process_tree(process.pid) if pid != process.pid]
        below = max(below, sum(_kilobytes(pid, "smaps_rollup", "Pss") for pid in others) / 1024)
        time.sleep(_SECONDS_BETWEEN)
    wall = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if process.returncode:
        sys.exit(f"{command} failed:\n{process.stderr.read()[-2000:] if process.stderr else ''}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Watched(wall, cpu, own, below)


def _kilobytes(pid: int, file: str, field: str) -> int:
    """Returns a field of a process's file in /proc, or 0 if the process is gone."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/{file}").read_text().splitlines():
            if line.startswith(f"{field}:"):
                return int(line.split()[1])
    return 0
