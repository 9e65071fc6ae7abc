"""The judge's service: submissions come in, one after another, and their grades go out."""

from __future__ import annotations

import contextlib
import gc
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from grader.core.assignment import BadAssignment, Settings
from grader.core.points import total
from grader.core.processes import machine_has
from grader.core.submission import Imports, Unreadable
from grader.core.text import plain
from grader.core.verdict import Carried, Grade, GradeStatus, Status, Verdict
from grader.core.wire.calls import Raised
from grader.grading.judge.carry_forward import (
    EarlierVerdicts,
    Paid,
    applied,
    carried_points,
    summary,
)
from grader.grading.judge.judge import Judge
from grader.grading.options import Task
from grader.intake.client import IntakeClient
from grader.intake.copying import CopyFailed, is_of_the_machine
from grader.intake.entry import Entry
from grader.sandbox.claims import Uses
from grader.sandbox.fork_server import ForkServerLost, ForkServers
from grader.sandbox.preparation import PreparedSubmission, SubmissionPreparation, require_device
from grader.sandbox.session import SessionLimits
from grader.testing.cases import HOME_SEED
from grader.testing.outcome import Plainly
from grader.testing.suite import Suite
from grader.worker.packages import is_installed

# The calls of the first submission draw the cases and compute the references.
_SUBMISSIONS_THAT_LEAVE_MUCH = 2
# On a busy machine, a call may take this many times its seconds.
_NET = 3

# Bytes of a judge beyond a submission's limit, for answers and their comparison.
_MEMORY_TO_COMPARE = 512 << 20

Say = Callable[[dict[str, Any]], None]


def memory_bound(settings: Settings) -> int:
    """Returns the bytes by which a judge may grow."""
    return (settings.memory_mb << 20) + _MEMORY_TO_COMPARE


@dataclass(frozen=True, slots=True)
class SubmissionOutcome:
    """The outcome of judging one submission."""

    status: GradeStatus
    message: str | None
    tests: tuple[Verdict, ...]
    isolation: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    imports: Imports = field(default_factory=Imports)
    carried: tuple[Carried, ...] = ()


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
        self._judge = Judge(suite, settings.seed, settings.device)
        assignment = suite.assignment
        self._preparation = SubmissionPreparation(
            assignment, settings.adapters, servers, intake, scratch, Plainly()
        )
        self._graded = 0

    def prepare(self) -> dict[str, Any]:
        """Warms up; returns the maximum score for the coordinator.

        Raises:
            BadAssignment: if no worker can compute on the device, or the seed is that of home.
        """
        if self._settings.seed == HOME_SEED:
            raise BadAssignment(
                f"the seed {HOME_SEED} draws the tests that students have at home: choose another"
            )
        # Warming up is charged to no submission. If it fails, the first submission reports why.
        with contextlib.suppress(ForkServerLost):
            self._servers.current().wait_until_ready()
        require_device(self._servers.current(), self._scratch, self._settings.device)
        return {"max_score": self._suite.max_score}

    def grade(self, job: Mapping[str, Any]) -> Grade:
        """Returns the grade that a job asks for."""
        if self._graded < _SUBMISSIONS_THAT_LEAVE_MUCH:
            _spare_the_collector()
        self._graded += 1
        started = time.monotonic()
        task = Task.from_json(job, Entry.from_json(job["entry"]))
        if task.late_import is None:
            earlier = EarlierVerdicts({one.id: one for one in task.kept}, task.carried)
            outcome = self._examined(task.entry, earlier, job["follow"])
        else:
            why = task.late_import
            outcome = self._unexamined(GradeStatus.UNREADABLE, Status.TIMEOUT, why)
        taken = time.monotonic() - started + sum(verdict.duration_s for verdict in task.kept)
        return Grade(
            submission=task.entry.name,
            status=outcome.status,
            score=total(test.score for test in outcome.tests),
            max_score=self._suite.max_score,
            seed=self._settings.seed,
            submission_hash=task.submission_hash,
            suite_hash=self._settings.suite_hash,
            duration_s=round(taken, 4),
            message=outcome.message,
            isolation=outcome.isolation,
            tests=outcome.tests,
            notes=outcome.notes,
            imports=outcome.imports,
            carried=outcome.carried,
        )

    def _examined(self, entry: Entry, earlier: EarlierVerdicts, follow: bool) -> SubmissionOutcome:
        """Returns the outcome of a submission, asking it only for tests without a kept verdict.

        This function is the one border around all that is derived from a submission. An error
        inside it is the submission's doing, unless the machine caused the error.
        """
        try:
            with self._preparation.prepared(entry, self._limits) as prepared:
                outcome = self._judged(prepared, earlier, follow)
                return replace(outcome, notes=(*prepared.submission.notes, *outcome.notes))
        except Unreadable as problem:
            return self._unexamined(GradeStatus.UNREADABLE, Status.MISSING, str(problem))
        except (CopyFailed, ForkServerLost) as problem:
            return self._unexamined(GradeStatus.NOT_GRADED, Status.NOT_GRADED, str(problem))
        except MemoryError:
            if machine_has(memory_bound(self._settings)):
                why = "its answers take more memory than a judge may have"
                return self._unexamined(GradeStatus.UNREADABLE, Status.ERROR, why)
            why = "this machine has no memory left for a judge: grade with fewer --jobs"
            return self._unexamined(GradeStatus.NOT_GRADED, Status.NOT_GRADED, why)
        except Exception as problem:
            if is_of_the_machine(problem):
                why = f"this machine has no room for a judge: {problem}"
                return self._unexamined(GradeStatus.NOT_GRADED, Status.NOT_GRADED, why)
            why = f"what it holds or answers cannot be processed ({type(problem).__name__})"
            return self._unexamined(GradeStatus.UNREADABLE, Status.ERROR, why)

    @property
    def _limits(self) -> SessionLimits:
        settings, call = self._settings, self._suite.assignment.call_timeout
        memory = settings.memory_mb << 20
        return SessionLimits(settings.timeout, call, _NET * call, memory, settings.device)

    def _unexamined(self, status: GradeStatus, of_tests: Status, why: str) -> SubmissionOutcome:
        return SubmissionOutcome(status, why, self._suite.unexamined(of_tests, why))

    def _judged(
        self, prepared: PreparedSubmission, earlier: EarlierVerdicts, follow: bool
    ) -> SubmissionOutcome:
        session, environment = prepared.session, prepared.environment
        problem = session.open()
        if problem is not None:
            is_ours = problem.status is Status.NOT_GRADED
            return SubmissionOutcome(
                GradeStatus.NOT_GRADED if is_ours else GradeStatus.UNREADABLE,
                problem.message,
                self._suite.unexamined(problem.status, problem.message),
                session.isolation,
                _skip_notes(session.not_run),
                imports=self._imports(prepared),
            )
        tests = tuple(
            self._told(self._judge.grade(session, kept=earlier.kept, charge=session.charge), follow)
        )
        if not earlier.kept and environment.leaves_nothing_of(tests):
            why = environment.absence
            nothing = self._suite.unexamined(Status.ERROR, why)
            imports = self._imports(prepared)
            return SubmissionOutcome(
                GradeStatus.UNREADABLE, why, nothing, session.isolation, imports=imports
            )
        tests = environment.spared(tests, session.cell_errors)
        imports, isolation = self._imports(prepared), session.isolation
        if any(test.status is Status.NOT_GRADED for test in tests):
            reason = next(t.message for t in tests if t.status is Status.NOT_GRADED)
            return SubmissionOutcome(
                GradeStatus.NOT_GRADED, reason, tests, isolation, imports=imports
            )
        tests = applied(tests, prepared.uses, self._suite.assignment.forbidden)
        carried = earlier.carried
        if not earlier.stands(tests):
            carried = self._carried(tests, self._judge.carried(tests, session), prepared.uses)
        notes = (*map(_cell_note, session.cell_errors), *_skip_notes(session.not_run))
        said = summary(prepared.uses)
        return SubmissionOutcome(
            GradeStatus.GRADED, said, tests, isolation, notes, imports, carried
        )

    def _carried(
        self, tests: Sequence[Verdict], found: Mapping[str, Paid], uses: Uses
    ) -> tuple[Carried, ...]:
        assignment = self._suite.assignment
        return carried_points(tests, found, uses, assignment.forbidden, assignment.carry_over)

    def _imports(self, prepared: PreparedSubmission) -> Imports:
        seconds = {
            name: taken
            for name, taken in prepared.session.import_seconds.items()
            if is_installed(name.partition(".")[0])
        }
        failed = self._servers.current().not_preloaded
        return Imports(seconds, tuple(prepared.environment.lacking), failed)

    def _told(self, verdicts: Iterable[Verdict], follow: bool) -> Iterator[Verdict]:
        """Yields the verdicts; sends each when it is reached, if the coordinator asks for that."""
        for verdict in verdicts:
            if follow:
                self._say({"verdict": verdict.as_json()})
            yield verdict


def _cell_note(raised: Raised) -> str:
    """Returns a sentence for the instructor about the exception of a cell."""
    what = f"{raised.kind}: {raised.message}" if raised.message else raised.kind
    last = raised.frames[-1] if raised.frames else None
    place = f" ({last.file}:{last.line}: {last.source})" if last else ""
    return f"A cell of the notebook raised {plain(what + place)}."


def _skip_notes(not_run: Sequence[str]) -> tuple[str, ...]:
    """Returns a sentence for the instructor about the parts of a notebook that were not run."""
    return (f"Not run while it is graded: {plain(', '.join(not_run))}.",) if not_run else ()


def _spare_the_collector() -> None:
    """Exempts the present objects from garbage collection, which costs a tenth of the time.

    These are the tests, the references and the cases.
    """
    gc.collect()
    gc.freeze()
