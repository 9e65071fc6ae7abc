"""The coordinator's end of a judge's process."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

from grader.assignment import BadAssignment
from grader.intake import Entry
from grader.judge.shorthand import ShorthandReader
from grader.settings import Settings
from grader.verdict import Grade, Verdict

Follow = Callable[[Verdict], None]
START_SECONDS = 300.0
# What a judge may take beside the submission's own time: its copy, the references, the tests.
OWN_SECONDS = 180.0


class JudgeLost(Exception):
    """A judge's process ended or does not answer; the text says which."""


class JudgeClient:
    """One judge, which grades one submission at a time; used by one thread.

    `command` starts its process.
    """

    command: ClassVar[Sequence[str]] = (sys.executable, "-m", "grader.judge.process")

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._process: subprocess.Popen[bytes] | None = None
        self._selector = selectors.DefaultSelector()
        self._unread = b""
        self._shorthand = ShorthandReader()

    def grade(
        self,
        entry: Entry,
        submission_hash: str,
        follow: Follow | None = None,
        exercises: Sequence[str] | None = None,
    ) -> Grade:
        """The grade of a submission; `follow` is given each verdict when it is reached.

        If only some `exercises` are wanted and all pass, it has the verdicts of these alone.

        Raises:
            JudgeLost: if the judge ended, or does not answer.
            BadAssignment: if the assignment's tests cannot be run.
        """
        if self._process is None:
            self._start()
        job = {"entry": entry.as_json(), "submission_hash": submission_hash}
        self._send(job | {"follow": follow is not None, "exercises": exercises})
        seconds = self._settings.timeout + OWN_SECONDS
        deadline = time.monotonic() + seconds
        while True:
            reply = self._receive(seconds, deadline)
            if "grade" in reply:
                return self._shorthand.read(reply["grade"])
            if follow is not None:
                follow(Verdict.from_json(reply["verdict"]))

    def close(self) -> None:
        """Ends the judge; it takes its fork server and workers with it."""
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(OSError):
            if process.stdin is not None:
                process.stdin.close()
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._kill(process)
        self._forget(process)

    def kill(self) -> None:
        """Ends the judge at once, from any thread."""
        if self._process is not None:
            self._kill(self._process)

    def _start(self) -> None:
        self._process = subprocess.Popen(
            self.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=_environment(),
            start_new_session=True,
        )
        self._unread = b""
        if self._process.stdout is not None:
            self._selector.register(self._process.stdout, selectors.EVENT_READ)
        self._send(self._settings.as_json())
        self._receive(START_SECONDS, time.monotonic() + START_SECONDS)

    def _send(self, line: dict[str, Any]) -> None:
        try:
            if self._process is not None and self._process.stdin is not None:
                self._process.stdin.write(json.dumps(line).encode() + b"\n")
                self._process.stdin.flush()
        except OSError as error:
            raise self._lost(f"it does not listen ({error.strerror})") from error

    def _receive(self, seconds: float, deadline: float) -> dict[str, Any]:
        """The next line; the `seconds` that it may take end at `deadline`."""
        while b"\n" not in self._unread:
            if not self._selector.select(max(deadline - time.monotonic(), 0)):
                raise self._lost(f"it did not answer within {seconds:.0f} seconds")
            pipe = self._process.stdout if self._process else None
            data = os.read(pipe.fileno(), 1 << 20) if pipe else b""
            if not data:
                raise self._lost("it ended")
            self._unread += data
        line, _, self._unread = self._unread.partition(b"\n")
        reply: dict[str, Any] = json.loads(line)
        if "stopped" in reply:
            self.close()
            raise BadAssignment(str(reply["stopped"]))
        return reply

    def _lost(self, why: str) -> JudgeLost:
        process, self._process = self._process, None
        if process is None:
            return JudgeLost(f"the judge was lost: {why}")
        self._kill(process)
        code = process.wait()
        self._forget(process)
        ended = f" ({signal.Signals(-code).name})" if code < 0 else f" (exit code {code})"
        return JudgeLost(f"the judge was lost: {why}{ended}")

    def _forget(self, process: subprocess.Popen[bytes]) -> None:
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(KeyError, ValueError):
                    self._selector.unregister(pipe)
                with contextlib.suppress(OSError):
                    pipe.close()

    @staticmethod
    def _kill(process: subprocess.Popen[bytes]) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


def _environment() -> dict[str, str]:
    """One thread for each judge, whatever the machine has."""
    engine = str(Path(__file__).resolve().parents[2])
    paths = [engine, *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {
        "PYTHONPATH": os.pathsep.join(paths),
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
