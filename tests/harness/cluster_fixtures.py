"""A Dask cluster of real processes on this machine, each worker with a disk of its own."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil

from tests.harness.waiting import PATIENCE, until

_SECONDS_TO_END = 60.0
# No test here takes long. The system ends a process that outlives its test.
_LIFE = "3600"


class Cluster:
    """A scheduler and its workers; `folder` keeps their logs and disks."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._started: list[psutil.Popen] = []
        self.workers: list[psutil.Popen] = []
        place = folder / "scheduler.json"
        self._start("scheduler", "--port", "0", "--scheduler-file", place)
        until(lambda: place.exists() and place.read_text(), "the scheduler listens")
        self.address = json.loads(place.read_text())["address"]

    def worker(
        self, name: str, engine: Path | None = None, wait: bool = True, threads: int = 1
    ) -> psutil.Popen:
        """Starts a worker, with a grader of its own if one is given."""
        disk = self._folder / f"disk-{name}"
        paths = {"PYTHONPATH": str(engine)} if engine else {}
        arguments = ("--name", name, "--nthreads", threads, "--no-nanny", "--local-directory", disk)
        worker = self._start("worker", self.address, *arguments, **paths)
        self.workers.append(worker)
        if wait:
            until(lambda: self.address_of(name), f"worker {name} is registered")
        return worker

    def address_of(self, name: str) -> str:
        """Returns a worker's address from its log, once the scheduler knows the worker."""
        log = (self._folder / f"{name}.log").read_text()
        address = re.search(r"Start worker at: *(\S+)", log)
        return address[1] if address and "Registered to" in log else ""

    def files_of(self, name: str) -> list[Path]:
        """Returns the adapters of assignments and submissions on a worker's disk."""
        return [*(self._folder / f"disk-{name}").rglob("adapters.py")]

    def end(self) -> None:
        """Ends the workers, then the scheduler."""
        # A worker that loses its scheduler while it ends may hang.
        scheduler, *workers = self._started
        for group in (workers, [scheduler]):
            for process in group:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.terminate()
            for process in group:
                _wait_for(process)

    def _start(self, part: str, *arguments: object, **variables: str) -> psutil.Popen:
        given = [str(argument) for argument in arguments]
        name = given[given.index("--name") + 1] if "--name" in given else part
        with (self._folder / f"{name}.log").open("w") as log:
            module = f"distributed.cli.dask_{part}"
            command = ["timeout", "--foreground", _LIFE, sys.executable, "-m", module]
            process = psutil.Popen(
                [*command, "--host", "127.0.0.1", "--no-dashboard", *given],
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self._folder,
                env=os.environ | variables,
            )
        self._started.append(process)
        return process


def _wait_for(process: psutil.Popen) -> None:
    """Waits until a process has ended; kills it with its descendants if it does not."""
    try:
        process.wait(timeout=_SECONDS_TO_END)
    except psutil.TimeoutExpired:
        for child in [*process.children(recursive=True), process]:
            with contextlib.suppress(psutil.NoSuchProcess):
                child.kill()
        process.wait(timeout=PATIENCE)


@contextlib.contextmanager
def running_cluster(folder: Path) -> Iterator[Cluster]:
    """Yields a cluster without workers."""
    cluster = Cluster(folder)
    try:
        yield cluster
    finally:
        cluster.end()


def jobs_of(worker: psutil.Process) -> list[psutil.Process]:
    """Returns the parent processes of a worker's jobs, which end with their jobs."""
    try:
        found = [child for child in worker.children(recursive=True) if _is_job(child)]
    except psutil.NoSuchProcess:
        return []
    jobs = {process.pid for process in found}
    return [process for process in found if process.ppid() not in jobs]


def _is_job(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess):
        return "grader.grading.job.process" in process.cmdline()
    return False
