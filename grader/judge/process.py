"""The judge's process: settings and submissions come in by lines of JSON, grades go out.

It is started as `python -m grader.judge.process`. Whatever the tests print goes to stderr.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TextIO

from grader.assignment import BadAssignment, find_assignment
from grader.intake import CopyFailed, Entry, take_in
from grader.judge.forkserver import ForkServer, ForkServerLost
from grader.judge.rules import Conduct
from grader.judge.scratch import PASSABLE, new_scratch
from grader.judge.session import Judge
from grader.judge.sitting import Limits, Sitting
from grader.submission import Submission, Unreadable
from grader.verdict import Grade, GradeStatus, Status, Verdict

_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True, slots=True)
class Settings:
    """What a judge must know before its first submission."""

    assignment: str
    seed: int
    exercises: tuple[str, ...]
    adapters: str
    timeout: float
    memory_mb: int
    suite_hash: str

    def as_json(self) -> dict[str, Any]:
        """The settings as the first line that a judge reads."""
        return asdict(self)

    @classmethod
    def from_json(cls, row: dict[str, Any]) -> Settings:
        """The settings that `as_json` wrote."""
        return cls(**row | {"exercises": tuple(row["exercises"])})


def main() -> None:
    """Serves the coordinator that started this process until it hangs up."""
    _die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    settings = Settings.from_json(json.loads(sys.stdin.readline()))
    scratch = new_scratch()
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(scratch / "inductor")
    try:
        with ForkServers(scratch) as servers:
            JudgeProcess(settings, servers, scratch, replies).run()
    except BadAssignment as problem:
        _say(replies, {"stopped": str(problem)})
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one submission."""

    status: GradeStatus
    message: str | None
    tests: tuple[Verdict, ...]
    isolation: Mapping[str, str] = field(default_factory=dict)


class ForkServers:
    """The fork server in use; a lost one is replaced when the next worker is wanted."""

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch
        self._server = ForkServer(scratch)

    def __enter__(self) -> ForkServers:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.close()

    def current(self) -> ForkServer:
        """A fork server that has not been lost."""
        if self._server.is_lost:
            self._server.close()
            self._server = ForkServer(self._scratch)
        return self._server


class JudgeProcess:
    """Grades the submissions that come in, one after another."""

    def __init__(
        self, settings: Settings, servers: ForkServers, scratch: Path, replies: TextIO
    ) -> None:
        self._settings = settings
        self._assignment = find_assignment(Path(settings.assignment))
        self._servers = servers
        self._scratch = scratch
        self._replies = replies

    def run(self) -> None:
        """Collects the tests, then grades what comes in.

        Raises:
            BadAssignment: if the tests cannot be collected.
        """
        judge = Judge(self._assignment, self._settings.seed, self._settings.exercises, self._serve)
        judge.run()

    def _serve(self, judge: Judge) -> None:
        self._say({"ready": {"max_score": judge.max_score}})
        for line in sys.stdin:
            job = json.loads(line)
            entry = Entry(job["name"], Path(os.fsdecode(bytes.fromhex(job["path"]))))
            self._say({"grade": self._grade(judge, entry, job["submission_hash"]).as_json()})

    def _grade(self, judge: Judge, entry: Entry, submission_hash: str) -> Grade:
        started = time.monotonic()
        outcome = self._examine(judge, entry)
        return Grade(
            submission=entry.name,
            status=outcome.status,
            score=round(sum(test.score for test in outcome.tests), 4),
            max_score=round(judge.max_score, 4),
            seed=self._settings.seed,
            submission_hash=submission_hash,
            suite_hash=self._settings.suite_hash,
            duration_s=round(time.monotonic() - started, 4),
            message=outcome.message,
            isolation=outcome.isolation,
            tests=outcome.tests,
        )

    def _examine(self, judge: Judge, entry: Entry) -> Outcome:
        with self._private_folder() as folder:
            try:
                taken_in = folder / "taken-in"
                taken_in.mkdir()
                submission = take_in(entry, taken_in, self._settings.adapters)
                return self._judge(judge, submission, folder)
            except Unreadable as problem:
                tests = judge.unexamined(Status.MISSING, str(problem))
                return Outcome(GradeStatus.UNREADABLE, str(problem), tuple(tests))
            except (CopyFailed, ForkServerLost) as problem:
                tests = judge.unexamined(Status.NOT_GRADED, str(problem))
                return Outcome(GradeStatus.NOT_GRADED, str(problem), tuple(tests))

    def _judge(self, judge: Judge, submission: Submission, folder: Path) -> Outcome:
        limits = Limits(
            self._settings.timeout, self._assignment.call_timeout, self._settings.memory_mb << 20
        )
        conduct = Conduct(self._assignment.forbidden, submission.root)
        sitting = Sitting(self._servers.current, submission, limits, folder, conduct)
        problem = sitting.open()
        if problem is not None:
            tests = tuple(judge.unexamined(problem.status, problem.message, problem.where))
            return Outcome(GradeStatus.UNREADABLE, problem.message, tests, sitting.isolation)
        tests = judge.explained(judge.grade(sitting))
        if any(test.status is Status.NOT_GRADED for test in tests):
            reason = next(t.message for t in tests if t.status is Status.NOT_GRADED)
            return Outcome(GradeStatus.NOT_GRADED, reason, tests, sitting.isolation)
        tests = conduct.applied(tests)
        return Outcome(GradeStatus.GRADED, conduct.summary(), tests, sitting.isolation)

    @contextlib.contextmanager
    def _private_folder(self) -> Iterator[Path]:
        folder = Path(tempfile.mkdtemp(dir=self._scratch))
        folder.chmod(PASSABLE)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _say(self, line: dict[str, Any]) -> None:
        _say(self._replies, line)


def _say(replies: TextIO, line: dict[str, Any]) -> None:
    replies.write(json.dumps(line, allow_nan=False) + "\n")
    replies.flush()


def _die_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


if __name__ == "__main__":
    main()
