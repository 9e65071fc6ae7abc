"""The judge's process: settings and submissions come in by lines of JSON, grades go out.

It is started as `python -m grader.judge.process`. Whatever the tests print goes to stderr. If a
submission's line says `"follow": true`, its verdicts go out before its grade, each when it is
reached; they have no diagnosis yet.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TextIO

from grader.assignment import Assignment, BadAssignment, find_assignment
from grader.evidence import Evidence
from grader.explaining.excerpts import excerpts
from grader.explaining.mentions import find_mentions
from grader.explaining.wording import InFull
from grader.imports import Imports
from grader.intake import CopyFailed, Entry, take_in
from grader.judge.rules import applied, summary
from grader.judge.session import Judge
from grader.judge.shorthand import ShorthandWriter
from grader.plain_text import plain
from grader.points import total
from grader.sandbox.device import require_device, turn_on
from grader.sandbox.environment import Environment
from grader.sandbox.forkserver import ForkServer, ForkServerLost
from grader.sandbox.replies import Unremarkable
from grader.sandbox.scratch import PASSABLE, new_scratch
from grader.sandbox.sitting import Limits, Sitting
from grader.sandbox.uses import Uses
from grader.settings import Settings
from grader.submission import Submission, Unreadable
from grader.verdict import Grade, GradeStatus, Status, Verdict
from grader.wire.calls import Raised
from grader.worker.packages import is_installed

_PR_SET_PDEATHSIG = 1
# The first one's calls draw the cases and compute the references.
_SUBMISSIONS_THAT_LEAVE_MUCH = 2


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
        assignment = find_assignment(Path(settings.assignment))
        with ForkServers(scratch, assignment.preload) as servers:
            JudgeProcess(settings, assignment, servers, scratch, replies).run()
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
    notes: tuple[str, ...] = ()
    evidence: Evidence = field(default_factory=Evidence)
    imports: Imports = field(default_factory=Imports)


class ForkServers:
    """The fork server in use; a lost one is replaced when the next worker is wanted."""

    def __init__(self, scratch: Path, preload: Sequence[str]) -> None:
        self._scratch = scratch
        self._preload = preload
        self._server = ForkServer(scratch, preload)

    def __enter__(self) -> ForkServers:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.close()

    def current(self) -> ForkServer:
        """A fork server that has not been lost."""
        if self._server.is_lost:
            self._server.close()
            self._server = ForkServer(self._scratch, self._preload)
        return self._server


class JudgeProcess:
    """Grades the submissions that come in, one after another."""

    def __init__(
        self,
        settings: Settings,
        assignment: Assignment,
        servers: ForkServers,
        scratch: Path,
        replies: TextIO,
    ) -> None:
        self._settings = settings
        self._assignment = assignment
        self._servers = servers
        self._scratch = scratch
        self._replies = replies
        self._follow = False
        self._familiar = Unremarkable()
        self._shorthand = ShorthandWriter()

    def run(self) -> None:
        """Collects the tests, then grades what comes in.

        Raises:
            BadAssignment: if the tests cannot be collected.
        """
        settings = self._settings
        judge = Judge(
            self._assignment, settings.seed, settings.exercises, self._serve, settings.device
        )
        judge.run()

    def _serve(self, judge: Judge) -> None:
        # That it warms up is no submission's time; why it did not, the first one will tell.
        with contextlib.suppress(ForkServerLost):
            self._servers.current().wait_until_ready()
        require_device(self._servers.current(), self._scratch, self._settings.device)
        self._say({"ready": {"max_score": judge.max_score}})
        for number, line in enumerate(sys.stdin):
            if number < _SUBMISSIONS_THAT_LEAVE_MUCH:
                _spare_the_collector()
            job = json.loads(line)
            entry = Entry.from_json(job["entry"])
            self._follow = job["follow"]
            grade = self._grade(judge, entry, job["submission_hash"], job["exercises"])
            self._say({"grade": self._shorthand.written(grade)})

    def _grade(
        self, judge: Judge, entry: Entry, submission_hash: str, exercises: Collection[str] | None
    ) -> Grade:
        started = time.monotonic()
        outcome = self._examine(judge, entry, exercises)
        return Grade(
            submission=entry.name,
            status=outcome.status,
            score=total(test.score for test in outcome.tests),
            max_score=judge.max_score,
            seed=self._settings.seed,
            submission_hash=submission_hash,
            suite_hash=self._settings.suite_hash,
            duration_s=round(time.monotonic() - started, 4),
            message=outcome.message,
            isolation=outcome.isolation,
            tests=outcome.tests,
            notes=outcome.notes,
            evidence=outcome.evidence,
            imports=outcome.imports,
        )

    def _examine(self, judge: Judge, entry: Entry, exercises: Collection[str] | None) -> Outcome:
        """What becomes of a submission that is asked for `exercises`, by default for all.

        If one of them is not right, all are looked at: what explains it may lie in another one.
        """
        with self._private_folder() as folder:
            try:
                taken_in = folder / "taken-in"
                taken_in.mkdir()
                submission = take_in(entry, taken_in, self._settings.adapters)
                outcome = self._judge(judge, submission, folder, exercises)
                if exercises is not None and not _all_passed(outcome):
                    outcome = self._judge(judge, submission, folder, None)
                return replace(outcome, notes=(*submission.notes, *outcome.notes))
            except Unreadable as problem:
                tests = judge.unexamined(Status.MISSING, str(problem))
                return Outcome(GradeStatus.UNREADABLE, str(problem), tuple(tests))
            except (CopyFailed, ForkServerLost) as problem:
                tests = judge.unexamined(Status.NOT_GRADED, str(problem))
                return Outcome(GradeStatus.NOT_GRADED, str(problem), tuple(tests))

    def _judge(
        self,
        judge: Judge,
        submission: Submission,
        folder: Path,
        exercises: Collection[str] | None,
    ) -> Outcome:
        settings = self._settings
        limits = Limits(
            settings.timeout,
            self._assignment.call_timeout,
            settings.memory_mb << 20,
            settings.device,
        )
        forbidden = self._assignment.forbidden
        uses = Uses(forbidden, submission.root)
        environment = Environment(self._assignment, submission.root)
        sitting = Sitting(
            self._servers.current,
            submission,
            limits,
            folder,
            uses,
            environment,
            self._familiar,
            InFull(),
        )
        with turn_on(settings.device), contextlib.closing(sitting):
            problem = sitting.open()
            if problem is not None:
                is_ours = problem.status is Status.NOT_GRADED
                tests = tuple(judge.unexamined(problem.status, problem.message, problem.where))
                return Outcome(
                    GradeStatus.NOT_GRADED if is_ours else GradeStatus.UNREADABLE,
                    problem.message,
                    tests,
                    sitting.isolation,
                    evidence=Evidence(excerpts=excerpts(submission.root, [problem.where])),
                    imports=self._imports(sitting, environment),
                )
            tests = judge.explained(self._told(judge.grade(sitting, exercises)))
        imports = self._imports(sitting, environment)
        tests = environment.spared(tests, sitting.cell_errors)
        if any(test.status is Status.NOT_GRADED for test in tests):
            reason = next(t.message for t in tests if t.status is Status.NOT_GRADED)
            return Outcome(
                GradeStatus.NOT_GRADED, reason, tests, sitting.isolation, imports=imports
            )
        tests = applied(tests, uses, forbidden)
        notes = tuple(_cell_note(raised) for raised in sitting.cell_errors)
        evidence = replace(
            judge.evidence,
            excerpts=excerpts(submission.root, (test.where for test in tests)),
            printed=sitting.printed,
        )
        said = summary(uses, find_mentions(submission.root, forbidden))
        isolation = sitting.isolation
        return Outcome(GradeStatus.GRADED, said, tests, isolation, notes, evidence, imports)

    def _imports(self, sitting: Sitting, environment: Environment) -> Imports:
        seconds = {
            name: taken
            for name, taken in sitting.import_seconds.items()
            if is_installed(name.partition(".")[0])
        }
        failed = self._servers.current().not_preloaded
        return Imports(seconds, tuple(environment.lacking), failed)

    def _told(self, verdicts: Iterable[Verdict]) -> Iterator[Verdict]:
        """The verdicts; each is said when it is reached, if the coordinator wants to follow."""
        for verdict in verdicts:
            if self._follow:
                self._say({"verdict": verdict.as_json()})
            yield verdict

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


def _all_passed(outcome: Outcome) -> bool:
    graded = outcome.status is GradeStatus.GRADED
    return graded and all(test.status is Status.PASSED for test in outcome.tests)


def _cell_note(raised: Raised) -> str:
    """What a cell raised, its place included, as a sentence for the instructor."""
    what = f"{raised.kind}: {raised.message}" if raised.message else raised.kind
    last = raised.frames[-1] if raised.frames else None
    place = f" ({last.file}, line {last.line}: {last.source})" if last else ""
    return f"A cell of the notebook raised {plain(what + place)}."


def _say(replies: TextIO, line: dict[str, Any]) -> None:
    replies.write(json.dumps(line, allow_nan=False) + "\n")
    replies.flush()


def _spare_the_collector() -> None:
    """What is there stays: tests, references, cases. Looking for garbage in it costs a tenth."""
    gc.collect()
    gc.freeze()


def _die_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


if __name__ == "__main__":
    main()
