"""Lines of JSON between the coordinator and its jobs, and the coordinator's handles of jobs.

Processes start together and end one by one. This module is loaded before torch and does not import
it.
"""

from __future__ import annotations

import contextlib
import enum
import itertools
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from grader.core.text import Refusal


class Role(enum.StrEnum):
    """The role of the process that answers a job's lines: judge or explainer."""

    JUDGE = "judge"
    EXPLAINER = "explainer"


class LineChannel:
    """A descriptor to read lines from, and one to answer at; forked processes share both."""

    def __init__(self, listening: int, answering: int) -> None:
        self._listening = os.fdopen(listening, encoding="utf-8")
        self._answering = os.fdopen(answering, "w", encoding="utf-8")

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yields each line that comes in, until the coordinator hangs up."""
        while (line := self.next()) is not None:
            yield line

    def next(self) -> dict[str, Any] | None:
        """Returns the next line that comes in; None if the coordinator has hung up."""
        line = self._listening.readline()
        return json.loads(line) if line else None

    def say(self, line: dict[str, Any]) -> None:
        """Writes an answer; does nothing if the coordinator is gone."""
        with contextlib.suppress(BrokenPipeError):
            self._answering.write(json.dumps(line, allow_nan=False) + "\n")
            self._answering.flush()

    def end_line(self) -> None:
        """Ends a line that another process may have left unfinished."""
        with contextlib.suppress(BrokenPipeError):
            self._answering.write("\n")
            self._answering.flush()

    def close(self) -> None:
        """Closes both ends; other processes that share them keep theirs."""
        self._listening.close()
        with contextlib.suppress(BrokenPipeError):
            self._answering.close()


class NoJob(Refusal):
    """A job that this machine cannot start; the text says why."""


# With -P, no module of the current folder is imported: it may be a student's.
COMMAND = (sys.executable, "-P", "-m", "grader.grading.job.process")
_SECONDS_TO_END = 10.0


class Collector:
    """The process that collects the tests and forks the jobs; it ends after them."""

    def __init__(self, command: Sequence[str], pairs: Sequence[tuple[int, int]]) -> None:
        (listening, answering), *others = pairs
        self._jobs = len(pairs)
        self._lock = threading.Lock()
        self._process = subprocess.Popen(
            [*command, *(f"{one},{other}" for one, other in others)],
            stdin=listening,
            stdout=answering,
            pass_fds=[descriptor for pair in others for descriptor in pair],
            env=_environment(),
            start_new_session=True,
        )

    def kill(self) -> None:
        """Ends the collector at once, with all jobs."""
        _kill(self._process.pid)

    def release(self) -> int:
        """Waits for the collector's end if this was the last job; returns its exit code.

        The code is minus the signal if one killed the collector, and 0 while other jobs run.
        """
        with self._lock:
            self._jobs -= 1
            if self._jobs:
                return 0
        try:
            return self._process.wait(_SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            self.kill()
            return self._process.wait()


class JobProcess:
    """One job: a pipe for its orders, and one for its answers.

    `pid` is its process id, or 0 until the job has sent it.
    """

    def __init__(self, collector: Collector, order: int, answer: int) -> None:
        self.answer = answer
        self.pid = 0
        self._order = order
        self._collector = collector

    def send(self, line: bytes) -> None:
        """Sends a line.

        Raises:
            OSError: if the job does not read it.
        """
        while line:
            line = line[os.write(self._order, line) :]

    def kill(self) -> None:
        """Ends the job at once; while its `pid` is unknown, all jobs that started with it."""
        if self.pid:
            _kill(self.pid)
        else:
            self._collector.kill()

    def end(self) -> int:
        """Hangs up, and waits for the job's end; returns the code of `Collector.release`."""
        os.close(self._order)
        if not self._has_ended():
            self.kill()
            self._has_ended()
        os.close(self.answer)
        return self._collector.release()

    def _has_ended(self) -> bool:
        """Returns whether the job hangs up in time; skips its answers."""
        deadline = time.monotonic() + _SECONDS_TO_END
        while select.select([self.answer], [], [], max(0.0, deadline - time.monotonic()))[0]:
            if not os.read(self.answer, 1 << 20):
                return True
        return False


def start_jobs(command: Sequence[str], count: int) -> list[JobProcess]:
    """Starts `count` jobs that share one collection of tests.

    `command` is the command of the first job, which uses its stdin and stdout. Its arguments are
    the pairs of descriptors of the other jobs. The system ends all of them with this thread.

    Raises:
        NoJob: if this machine has no process or descriptor left.
    """
    pipes: list[tuple[int, int]] = []
    try:
        for _ in range(2 * count):
            pipes.append(os.pipe())
        orders, answers = pipes[:count], pipes[count:]
        theirs = [(order[0], answer[1]) for order, answer in zip(orders, answers, strict=True)]
        collector = Collector(command, theirs)
    except OSError as error:
        _close(pipes)
        raise NoJob(
            f"no job starts on this machine ({error.strerror}): grade with fewer --jobs"
        ) from error
    _close(theirs)
    ours = zip(orders, answers, strict=True)
    return [JobProcess(collector, order[1], answer[0]) for order, answer in ours]


def _close(pairs: Iterable[tuple[int, int]]) -> None:
    for descriptor in itertools.chain(*pairs):
        os.close(descriptor)


def _kill(group: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def _environment() -> dict[str, str]:
    """Returns the environment of a job, with one thread on any machine.

    Relative and empty entries of PYTHONPATH are left out: they mean the current folder.
    """
    engine = str(Path(__file__).resolve().parents[3])
    paths = [engine, *filter(os.path.isabs, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    return os.environ | {
        "PYTHONPATH": os.pathsep.join(paths),
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
