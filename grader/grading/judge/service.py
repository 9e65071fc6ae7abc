"""The judge's service: submissions come in, one after another, and their grades go out."""

from __future__ import annotations

import contextlib
import functools
import gc
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from grader.core.assignment import BadAssignment, Settings
from grader.core.points import total
from grader.core.processes import is_of_memory, machine_has
from grader.core.submission import Imports, Unreadable
from grader.core.text import plain
from grader.core.verdict import Grade, GradeStatus, Status, Verdict
from grader.core.wire.calls import Raised
from grader.core.wire.records import written
from grader.grading.judge.carry_forward import carried_points
from grader.grading.judge.deductions import applied, summary
from grader.grading.judge.judge import Judge
from grader.grading.options import Task
from grader.intake.client import IntakeClient
from grader.intake.copying import CopyFailed, is_of_the_machine
from grader.sandbox.fork_server import ForkServerLost, ForkServers
from grader.sandbox.preparation import SubmissionPreparation, require_device
from grader.sandbox.session import Session, SessionLimits
from grader.testing.cases import SEED
from grader.testing.outcome import Plainly
from grader.testing.suite import Suite

# The calls of the first submission draw the cases and compute the references.
_SUBMISSIONS_THAT_LEAVE_MUCH = 2
# Digests of answers; a class whose answers differ at random forgets them all.
_MOST_FAMILIAR = 1 << 16
# On a busy machine, a call may take this many times its seconds.
_NET = 3

# Bytes of a judge beyond a submission's limit, for answers and their comparison.
_MEMORY_TO_COMPARE = 512 << 20

Say = Callable[[dict[str, Any]], None]


def memory_bound(settings: Settings) -> int:
    """Returns the bytes by which a judge may grow."""
    return (settings.memory_mb << 20) + _MEMORY_TO_COMPARE


class JudgeService:
    """A service that grades submissions as they come; `say` sends verdicts to the coordinator."""

    def __init__(
        self,
        suite: Suite,
        settings: Settings,
        servers: ForkServers,
        intake: IntakeClient,
        scratch: Path,
        say: Say,
    ) -> None:
        self._suite = suite
        self._settings = settings
        self._servers = servers
        self._scratch = scratch
        self._say = say
        memory = memory_bound(settings)
        self._judge = Judge(suite, settings.seed, settings.device, memory=memory)
        assignment = suite.assignment
        self._preparation = SubmissionPreparation(
            assignment, settings.adapters, servers, intake, scratch, Plainly()
        )
        self._graded = 0
        # Digests of answers without exceptions and forbidden uses.
        self._familiar: set[bytes] = set()

    def prepare(self) -> None:
        """Warms up before the first submission.

        Raises:
            BadAssignment: if no worker can compute on the device, or the seed is that of home.
        """
        if self._settings.seed == SEED:
            raise BadAssignment(
                f"the seed {SEED} draws the tests that students have at home: choose another"
            )
        # Warming up is charged to no submission. If it fails, the first submission reports why.
        with contextlib.suppress(ForkServerLost):
            self._servers.current().wait_until_ready()
        require_device(self._servers.current(), self._scratch, self._settings.device)

    def grade(self, job: Mapping[str, Any]) -> Grade:
        """Returns the grade that a job asks for."""
        if self._graded < _SUBMISSIONS_THAT_LEAVE_MUCH:
            # The tests, the references and the cases stay: looking for cycles in them would cost
            # a tenth of the time.
            gc.collect()
            gc.freeze()
        self._graded += 1
        if len(self._familiar) > _MOST_FAMILIAR:
            self._familiar.clear()
        started = time.monotonic()
        task = Task.from_json(job)
        grade = replace(task.ungraded(self._settings, None), max_score=self._suite.max_score)
        grade = self._examined(grade, task, job["follow"])
        taken = time.monotonic() - started
        score = total(test.score for test in grade.tests)
        return replace(grade, score=score, duration_s=round(taken, 4))

    def _examined(self, blank: Grade, task: Task, follow: bool) -> Grade:
        """Returns the grade of a submission.

        This function is the one border around all that is derived from a submission. An error
        inside it is the submission's doing, unless the machine caused the error.
        """
        try:
            with self._preparation.prepared(task.entry, self._limits) as session:
                grade = self._judged(blank, session, follow)
                return replace(grade, notes=(*session.submission.notes, *grade.notes))
        except Unreadable as problem:
            return self._unexamined(blank, GradeStatus.UNREADABLE, Status.MISSING, str(problem))
        except (CopyFailed, ForkServerLost) as problem:
            return self._unexamined(blank, GradeStatus.NOT_GRADED, Status.NOT_GRADED, str(problem))
        except Exception as problem:
            if is_of_memory(problem):
                return self._without_memory(blank)
            if is_of_the_machine(problem):
                why = f"this machine has no room for a judge: {problem}"
                return self._unexamined(blank, GradeStatus.NOT_GRADED, Status.NOT_GRADED, why)
            why = f"what it holds or answers cannot be processed ({type(problem).__name__})"
            return self._unexamined(blank, GradeStatus.UNREADABLE, Status.ERROR, why)

    def _without_memory(self, blank: Grade) -> Grade:
        if machine_has(memory_bound(self._settings)):
            why = "its answers take more memory than a judge may have"
            return self._unexamined(blank, GradeStatus.UNREADABLE, Status.ERROR, why)
        why = "this machine has no memory left for a judge: grade with fewer --jobs"
        return self._unexamined(blank, GradeStatus.NOT_GRADED, Status.NOT_GRADED, why)

    @property
    def _limits(self) -> SessionLimits:
        settings, call = self._settings, self._suite.assignment.call_timeout
        memory = settings.memory_mb << 20
        return SessionLimits(settings.timeout, call, _NET * call, memory, settings.device)

    def _unexamined(self, blank: Grade, status: GradeStatus, of_tests: Status, why: str) -> Grade:
        tests = self._suite.unexamined(of_tests, why)
        return replace(blank, status=status, message=why, tests=tests)

    def _judged(self, blank: Grade, session: Session, follow: bool) -> Grade:
        environment = session.environment
        assignment = self._suite.assignment
        problem = session.open()
        if problem is not None:
            is_ours = problem.status is Status.NOT_GRADED
            status = GradeStatus.NOT_GRADED if is_ours else GradeStatus.UNREADABLE
            grade = self._unexamined(blank, status, problem.status, problem.message)
            grade = replace(grade, notes=_skip_notes(session.not_run))
            return self._observed(grade, session)
        ask = functools.partial(session.ask, familiar=self._familiar)
        judged = self._judge.grade(ask, charge=session.charge)
        tests = tuple(self._told(judged, follow))
        if environment.leaves_nothing_of(tests):
            why = environment.absence
            grade = self._unexamined(blank, GradeStatus.UNREADABLE, Status.ERROR, why)
            return self._observed(grade, session)
        tests = environment.spared(tests, session.cell_errors)
        grade = self._observed(blank, session)
        for test in tests:
            if test.status is Status.NOT_GRADED:
                return replace(grade, message=test.message, tests=tests)
        uses = session.uses
        tests = applied(tests, uses, assignment.forbidden)
        found, costs = self._judge.carried(tests, ask), assignment.forbidden
        carried = carried_points(tests, found, uses, costs, assignment.carry_over)
        notes = (*map(_cell_note, session.cell_errors), *_skip_notes(session.not_run))
        grade = replace(grade, tests=tests, notes=notes, carried=carried)
        return replace(
            grade, status=GradeStatus.GRADED, message=summary(uses, assignment.forbidden)
        )

    def _observed(self, grade: Grade, session: Session) -> Grade:
        """Returns a grade with the session's isolation and imports so far."""
        failed = self._servers.current().not_preloaded
        imports = Imports(tuple(session.environment.lacking), failed)
        return replace(grade, isolation=session.isolation, imports=imports)

    def _told(self, verdicts: Iterable[Verdict], follow: bool) -> Iterator[Verdict]:
        """Yields the verdicts; sends each when it is reached, if the coordinator asks for that."""
        for verdict in verdicts:
            if follow:
                self._say({"verdict": written(verdict)})
            yield verdict


def _cell_note(raised: Raised) -> str:
    message = " ".join(raised.message.split())
    what = f"{raised.kind}: {message}" if message else raised.kind
    last = raised.frames[-1] if raised.frames else None
    place = f" ({last.file}:{last.line}: {last.source})" if last else ""
    return f"A cell of the notebook raised {plain(what + place)}."


def _skip_notes(not_run: Sequence[str]) -> tuple[str, ...]:
    return (f"Not run while it is graded: {plain(', '.join(not_run))}.",) if not_run else ()
