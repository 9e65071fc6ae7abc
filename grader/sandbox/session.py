"""One submission's session: its worker, its time, and the exercises that are closed."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from grader.core.assignment import WALL_FACTOR
from grader.core.causes import NOT_CALLED, USED_UP
from grader.core.names import CPU
from grader.core.processes import Allowance
from grader.core.submission import Submission
from grader.core.verdict import Status
from grader.core.wire.calls import Answer, Call, Raised, Reply, SealedAnswer
from grader.core.wire.trials import Outcomes, Trials
from grader.core.wire.values import Value
from grader.sandbox.claims import Uses, redacted, with_what_was_not_run, without_places
from grader.sandbox.environment import Environment
from grader.sandbox.fork_server import ForkServer, ForkServerLost
from grader.sandbox.limits import PRICE_OF_JUDGE, Patience
from grader.sandbox.worker import Worker, WorkerLost
from grader.testing.handles.scripts import TwoProcesses, in_two_processes
from grader.testing.outcome import StudentFault, Wording

_LOSSES = 2
# This many calls may take all their time. If more hang, many tests likely call one endless loop.
_HANGS = 4
_SHARE_AFTER_HANGS = 0.25
_SPARE_SECONDS = 10
_PRINTED = 4096


@dataclass(frozen=True, slots=True)
class SessionLimits:
    """The limits of a session: seconds in all, bytes of memory, and the device.

    `call_seconds` bounds one call, which may take `call_wall` seconds by the clock while the
    machine is busy. `import_seconds` bounds the import if it is less than `submission_seconds`. If
    `dumps_stack` is set, a late worker is asked for its traceback.
    """

    submission_seconds: float
    call_seconds: float
    call_wall: float
    memory: int
    device: str = CPU
    import_seconds: float = math.inf
    dumps_stack: bool = False


@dataclass(eq=False, slots=True)
class TrialWorker:
    """A worker in which edits are tried; `seconds` is the time that it has taken."""

    _worker: Worker
    _spare: float
    seconds: float = 0.0

    def ask(self, call: Call) -> Answer:
        """Returns the answer of the program as edited so far; the session notes nothing of it.

        Raises:
            StudentFault: if there is no answer.
        """
        patience = Patience(self._spare, WALL_FACTOR * self._spare)
        try:
            return self._worker.ask(call, patience).opened()
        except WorkerLost as lost:
            raise StudentFault(lost.status, lost.message) from None
        finally:
            self.seconds += self._worker.taken.own

    def try_edits(self, trials: Trials) -> Outcomes:
        """Tries the edits in the worker and returns their outcomes.

        Raises:
            WorkerLost: if the worker does not report them.
        """
        own = trials.seconds + self._spare
        try:
            return self._worker.try_edits(trials, Patience(own, WALL_FACTOR * own))
        finally:
            self.seconds += self._worker.taken.own


@dataclass(eq=False, slots=True)
class Session:
    """One submission with its worker, which is replaced when it is lost.

    Only the time of the submission's own process counts, without that in which it waits for this
    machine. An exercise that lost two workers is not asked again. The first worker that this
    machine may have killed costs nothing: another one is asked. After a few calls that took too
    long, later calls get less time: one endless loop does not use up the others' time. An exercise
    gets a new worker if the one before it left too little memory. `used` are the seconds of its
    time that are used up. `stack_dump` is the traceback of the last call that took too long, as its
    worker claims it.
    """

    _server: Callable[[], ForkServer]
    submission: Submission
    _limits: SessionLimits
    _scratch: Path
    uses: Uses
    environment: Environment
    _wording: Wording
    problem: StudentFault | None = None
    stack_dump: str = ""
    isolation: Mapping[str, str] = field(default_factory=dict)
    cell_errors: tuple[Raised, ...] = ()
    not_run: tuple[str, ...] = ()
    used: float = 0.0
    _worker: Worker | None = None
    _wall: float = 0.0
    _beside: float = 0.0
    _bench: TrialWorker | None = None
    _asked: str = ""
    _losses: Counter[str] = field(default_factory=Counter)
    _hangs: int = 0
    _was_killed: bool = False
    _closed: dict[str, StudentFault] = field(default_factory=dict)
    _printed: str = ""
    _handed_on: tuple[TwoProcesses, Value] | None = None

    def open(self) -> StudentFault | None:
        """Has a worker import the submission; returns the fault if that fails.

        Raises:
            ForkServerLost: if no worker starts.
        """
        with contextlib.suppress(StudentFault):
            self._running_worker()
        return self.problem

    def ask(
        self, call: Call, seconds: float = math.inf, familiar: set[bytes] | None = None
    ) -> Reply:
        """Returns the submission's answer to a call; a script may take two workers.

        `seconds` lowers the time limit of the call. If a script hands on a file between two
        processes, a new worker runs the second part. The answer is sealed if its digest is
        `familiar`; the digest of another value becomes so.

        Raises:
            StudentFault: if there is no answer.
            ForkServerLost: if no worker starts.
        """
        parts = in_two_processes(call)
        if parts is None:
            self._handed_on = None
            return self._ask(call, seconds, familiar)
        if self._handed_on is None or not parts.follows(self._handed_on[0]):
            self._handed_on = None
            answer = self._ask(parts.first, seconds).opened()
            if answer.raised is not None:
                return answer
            self._handed_on = parts, answer.value
            self.close()
        return self._ask(parts.second(self._handed_on[1]), seconds, familiar)

    def _ask(self, call: Call, seconds: float, familiar: set[bytes] | None = None) -> Reply:
        self.stack_dump = ""
        if call.adapter in self._closed:
            raise self._closed[call.adapter].again()
        if call.adapter != self._asked and self._worker is not None and self._worker.hoards:
            self.close()
        self._asked = call.adapter
        worker = self._running_worker()
        limits = self._limits
        share = 1.0 if self._hangs < _HANGS else _SHARE_AFTER_HANGS
        seconds = min(seconds, share * limits.call_seconds)
        patience, whole = self._patience(seconds, share * limits.call_wall)
        try:
            answer = worker.ask(call, patience, familiar or ())
            if isinstance(answer, SealedAnswer):
                return answer
            self.uses.note_call(call.adapter, answer.uses)
            if answer.raised is None:
                if familiar is not None and answer.digest is not None and not answer.uses:
                    familiar.add(answer.digest)
                return answer
            raised = self._redact(answer.raised, worker, asked=True)
            fault = self.environment.fault(raised)
            if fault is not None:
                raise fault
            digest = hashlib.sha256(repr(raised).encode("utf-8", "backslashreplace")).digest()
            return dataclasses.replace(answer, raised=raised, digest=digest)
        except WorkerLost as lost:
            if self._may_ask_again(lost):
                self.close()
                return self._ask(call, seconds, familiar)
            self.stack_dump = self._stack_dump_of(lost, worker)
            fault = self._fault(lost, whole, worker, hurried=share < 1)
            self._lose(call.adapter, fault)
            raise fault from None
        except MemoryError:
            self.close()  # the rest of the answer is still on the channel
            raise
        finally:
            self._note(worker)

    @property
    def spent(self) -> float:
        """Returns the seconds of all its workers, including those that tried edits."""
        return self.used + self._beside + (0.0 if self._bench is None else self._bench.seconds)

    def charge(self, seconds: float) -> None:
        """Deducts the price of the seconds that the submission's answers cost the judge."""
        self.used += PRICE_OF_JUDGE * seconds
        self._wall += seconds

    @contextlib.contextmanager
    def bench(self) -> Iterator[TrialWorker]:
        """Provides a worker in which edits of the submission can be tried, and which then ends.

        Its time does not count for the submission, and its output is discarded.

        Raises:
            WorkerLost: if it cannot import the submission, or is lost later on.
            ForkServerLost: if no worker starts.
        """
        self.close()
        worker = self._new_worker()
        try:
            seconds = self._limits.call_seconds
            patience = Patience(seconds, WALL_FACTOR * seconds)
            loaded = worker.load(self.submission, patience)
            self._beside += worker.taken.own
            if loaded.problem is not None:
                raise WorkerLost(Status.ERROR, "the submission was imported once, and not again")
            self._bench = TrialWorker(worker, seconds)
            yield self._bench
        finally:
            self._beside += 0.0 if self._bench is None else self._bench.seconds
            self._bench = None
            self._end(worker)

    @property
    def printed(self) -> str:
        """Returns the end of the submission's output so far."""
        return without_places(self._printed, self.submission.root, self._scratch)

    def close(self) -> None:
        """Ends the worker, if one is running."""
        if self._worker is not None:
            worker, self._worker = self._worker, None
            self._end(worker)

    def _note(self, worker: Worker) -> None:
        taken = worker.taken
        self.used += taken.own
        self._wall += taken.wall
        self._printed = (self._printed + worker.printed)[-_PRINTED:]

    def _running_worker(self) -> Worker:
        if self.problem is not None:
            raise self.problem.again()
        if self._worker is None:
            self._worker = self._start()
        return self._worker

    def _start(self) -> Worker:
        seconds = min(self._limits.import_seconds, self._limits.submission_seconds)
        patience, whole = self._patience(seconds, WALL_FACTOR * seconds)
        worker = self._new_worker()
        try:
            loaded = worker.load(self.submission, patience, self.uses.forbidden)
            self.uses.note_import(loaded.uses)
            self.not_run = loaded.not_run
            self.environment.note_absent(loaded.absent, bool(loaded.adapters))
        except WorkerLost as lost:
            self.stack_dump = self._stack_dump_of(lost, worker)
            self._end(worker)
            if self._may_ask_again(lost):
                return self._start()
            self.problem = self._fault(lost, whole, worker)
            raise self.problem.again() from None
        except ForkServerLost:
            self._end(worker)
            raise
        finally:
            self._note(worker)
            self.isolation = worker.isolation
        if loaded.problem is not None:
            self._end(worker)
            raised = self._redact(loaded.problem, worker)
            fault = self.environment.fault(raised)
            self.problem = fault or self._wording.raised(raised, self.submission.adapters)
            raise self.problem.again()
        self.cell_errors = tuple(map(self._told, loaded.cell_errors))
        return worker

    def _new_worker(self) -> Worker:
        seconds = int(self._limits.submission_seconds) + _SPARE_SECONDS
        allowance = Allowance(self._limits.memory, cpu_seconds=seconds, device=self._limits.device)
        return Worker.in_new_folder(self._server(), self._scratch, allowance)

    def _redact(self, raised: Raised, worker: Worker, asked: bool = False) -> Raised:
        """Returns the exception with the output before it, without this machine's paths."""
        before = time.thread_time()
        told = self._told(dataclasses.replace(raised, printed=worker.printed), asked)
        self.charge(time.thread_time() - before)
        return told

    def _told(self, raised: Raised, asked: bool = False) -> Raised:
        checked = with_what_was_not_run(self.environment.checked(raised, asked), self.not_run)
        return redacted(checked, self.submission.root, self._scratch)

    def _patience(self, wanted: float, wall: float) -> tuple[Patience, bool]:
        """Returns the patience for the next answer, and whether it is all the time left."""
        seconds = self._limits.submission_seconds
        left, wall_left = seconds - self.used, WALL_FACTOR * seconds - self._wall
        if min(left, wall_left) <= 0:
            raise StudentFault(Status.TIMEOUT, f"the submission's {seconds:.4g}{USED_UP}")
        return Patience(min(wanted, left), min(wall, wall_left)), left <= wanted

    def _stack_dump_of(self, lost: WorkerLost, worker: Worker) -> str:
        asked = self._limits.dumps_stack and lost.status is Status.TIMEOUT
        return worker.stack_dump() if asked else ""

    def _fault(
        self, lost: WorkerLost, whole: bool, worker: Worker, hurried: bool = False
    ) -> StudentFault:
        message = lost.message
        if lost.status is Status.TIMEOUT and whole:
            message += f" (the submission has {self._limits.submission_seconds:.4g} s in all)"
        elif lost.status is Status.TIMEOUT and hurried:
            message += f" ({_HANGS} calls before had {self._limits.call_seconds:.4g} s)"
        printed = without_places(worker.printed, self.submission.root, self._scratch)
        return StudentFault(lost.status, "\n".join([message, *self._wording.printed(printed)]))

    def _may_ask_again(self, lost: WorkerLost) -> bool:
        """Returns whether to ask another worker: only once, if this machine may have killed it."""
        is_first = lost.is_killed and not self._was_killed
        self._was_killed |= lost.is_killed
        return is_first

    def _lose(self, adapter: str, fault: StudentFault) -> None:
        self.close()
        self._hangs += fault.status is Status.TIMEOUT
        self._losses[adapter] += 1
        if self._losses[adapter] >= _LOSSES:
            message = f"{adapter}{NOT_CALLED}{fault.headline}"
            self._closed[adapter] = StudentFault(fault.status, message)

    def _end(self, worker: Worker) -> None:
        # Only this submission's processes ran below the fork server, and they ended with it.
        with contextlib.suppress(ForkServerLost):
            worker.end()
