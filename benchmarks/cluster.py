"""The cost of a submission for a cluster's coordinator and scheduler.

    python benchmarks/cluster.py [COPIES]

A Dask cluster of one worker on this machine grades a class of a few submissions, and one of COPIES
(default 60). The difference gives the coordinator's cost for one more submission: reading and
packing it, handing it to Dask, and storing its grade (not the report). The scheduler's part is too
small to measure in that way, so that a thousand empty tasks measure it. A cluster has only one of
each process: both limit the number of busy workers.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import distributed
import psutil

ROOT = Path(__file__).parents[1]
SUBMISSION = ROOT / "examples" / "class" / "alice-jones"
FEW = 4
TASKS = 1000
BATCH = """
import sys, grader
grader.batch(sys.argv[1], sys.argv[2], seed=7, scheduler=sys.argv[3])
"""
NOTHING = """
import sys
from grader.grading.cluster.connection import connected
with connected(sys.argv[1]) as client:
    (worker,) = client.scheduler_info()["workers"]
    package = bytes(4096)
    client.gather([
        client.submit(len, package, key=f"nothing-{number}", workers=[worker], pure=False)
        for number in range(int(sys.argv[2]))
    ])
"""


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds of processor time, and of the worker's wall time."""

    coordinator: float
    scheduler: float
    wall: float

    def __sub__(self, other: Cost) -> Cost:
        return Cost(
            self.coordinator - other.coordinator,
            self.scheduler - other.scheduler,
            self.wall - other.wall,
        )

    def __mul__(self, factor: float) -> Cost:
        return Cost(self.coordinator * factor, self.scheduler * factor, self.wall * factor)


def main() -> None:
    """Prints the table."""
    copies = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    print(f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()} {platform.release()}")
    print(f"Python {platform.python_version()}, distributed {distributed.__version__}\n")
    with tempfile.TemporaryDirectory() as name, cluster(Path(name)) as (address, scheduler):
        few, many = (graded(Path(name), size, address, scheduler) for size in (FEW, copies))
        none, tasks = (
            run(NOTHING, address, str(size), scheduler=scheduler) for size in (1, TASKS + 1)
        )
    one, nothing = (many - few) * (1 / (copies - FEW)), (tasks - none) * (1 / TASKS)
    print(f"coordinator {1000 * one.coordinator:8.2f} ms cpu for one more submission")
    print(f"  of that   {1000 * nothing.coordinator:8.2f} ms cpu for Dask")
    print(f"scheduler   {1000 * nothing.scheduler:8.2f} ms cpu")
    print(f"worker      {1000 * one.wall:8.1f} ms wall on one thread")
    print(f"threads that one coordinator keeps busy: {one.wall / one.coordinator:.0f}")


def graded(folder: Path, copies: int, address: str, scheduler: psutil.Process) -> Cost:
    """Grades a class of this number of copies of a submission, each with another hash."""
    handed_in = folder / f"class-{copies}"
    for number in range(copies):
        copy = handed_in / f"student-{number}"
        shutil.copytree(SUBMISSION, copy)
        (copy / "name.txt").write_text(str(number))
    out = str(folder / f"out-{copies}")
    return run(BATCH, str(handed_in), out, address, scheduler=scheduler)


def run(script: str, *arguments: str, scheduler: psutil.Process) -> Cost:
    """Returns the cost of a program for itself and for the scheduler."""
    before, started = busy(scheduler), time.monotonic()
    with subprocess.Popen([sys.executable, "-c", script, *arguments], cwd=ROOT) as coordinator:
        _, status, used = os.wait4(coordinator.pid, 0)
        coordinator.returncode = os.waitstatus_to_exitcode(status)
    if coordinator.returncode:
        sys.exit("the coordinator failed")
    wall = time.monotonic() - started
    return Cost(used.ru_utime + used.ru_stime, busy(scheduler) - before, wall)


def busy(process: psutil.Process) -> float:
    """Returns the seconds of processor time that a process has used."""
    times = process.cpu_times()
    return float(times.user + times.system)


@contextlib.contextmanager
def cluster(folder: Path) -> Iterator[tuple[str, psutil.Process]]:
    """Yields the address and the process of a scheduler with one worker of one thread."""
    file = folder / "scheduler.json"
    with contextlib.ExitStack() as stack:
        common = ["--host", "127.0.0.1", "--no-dashboard", "--scheduler-file", str(file)]

        def start(part: str, *arguments: str) -> subprocess.Popen[bytes]:
            process = subprocess.Popen(
                [sys.executable, "-m", f"distributed.cli.dask_{part}", *common, *arguments],
                stderr=subprocess.DEVNULL,
                cwd=folder,
            )
            stack.callback(process.wait)
            stack.callback(process.terminate)
            return process

        scheduler = start("scheduler", "--port", "0")
        while not file.exists() or not file.read_text():
            time.sleep(0.1)
        disk = str(folder / "disk")
        start("worker", "--nthreads", "1", "--no-nanny", "--local-directory", disk)
        yield json.loads(file.read_text())["address"], psutil.Process(scheduler.pid)


if __name__ == "__main__":
    main()
