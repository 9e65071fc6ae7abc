"""The service of the explainer process: takes graded submissions and yields their words."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from grader.core.assignment import EXPLAINING_WALL_FACTOR, Settings
from grader.core.evidence import Evidence
from grader.core.explanation import LATE, Told, Words
from grader.core.processes import limit_memory_growth
from grader.core.submission import Unreadable
from grader.core.text import plain
from grader.core.verdict import GradeStatus, Status
from grader.core.wire.records import Line
from grader.explain.answers import InFull
from grader.explain.deadline import Deadline
from grader.explain.excerpts import excerpts
from grader.explain.explainer.explainer import Explainer
from grader.explain.explainer.explanation_cache import ExplanationCache, digest_below
from grader.explain.explainer.rerun import LOST, REPEATED, LostTests, hang_told
from grader.explain.explainer.workshop import RepairWorkshop
from grader.explain.mistakes.mistakes import KnownMistakes
from grader.explain.rewriting.slips import Slips
from grader.intake.client import IntakeClient
from grader.intake.copying import CopyFailed
from grader.intake.entry import Entry
from grader.sandbox.fork_server import ForkServerLost, ForkServers
from grader.sandbox.preparation import SubmissionPreparation
from grader.sandbox.session import Session, SessionLimits
from grader.testing.outcome import StudentFault
from grader.testing.suite import Suite

# On top of the memory that the process holds when it starts.
_MEMORY = 1 << 30
_LARGEST_FILE = 64 << 20


class ExplainerService:
    """A service that explains one graded submission after another."""

    def __init__(
        self,
        suite: Suite,
        mistakes: KnownMistakes,
        slips: Slips,
        settings: Settings,
        servers: ForkServers,
        intake: IntakeClient,
        scratch: Path,
    ) -> None:
        assignment = suite.assignment
        self._suite = suite
        self._mistakes = mistakes
        self._slips = slips
        self._settings = settings
        self._explainer = Explainer(suite, mistakes)
        self._cache = ExplanationCache()
        self._preparation = SubmissionPreparation(
            assignment, settings.adapters, servers, intake, scratch, InFull()
        )

    def explain(self, job: Mapping[str, Any]) -> Iterator[Words]:
        """Yields the words for a submission, more with each step.

        `job` holds its entry and the judge's results. After a failure of any kind, the last words
        say why they are incomplete. A submission that the judge could not read either gets none.
        """
        seconds, words = self._settings.explain_seconds, Words()
        try:
            entry, limits = Entry.from_json(job["entry"]), self._limits(job)
            with self._preparation.prepared(entry, limits) as session:
                # The clock stands still while the machine is busy with something else.
                deadline = Deadline.after(
                    seconds,
                    lambda: time.process_time() + session.spent,
                    EXPLAINING_WALL_FACTOR * seconds,
                )
                for words in self._words(session, job, deadline):
                    yield words
                if deadline.passed:
                    yield replace(words, missing=LATE)
        except Unreadable as problem:
            if job["status"] != GradeStatus.UNREADABLE:
                yield replace(words, missing=f"it could be read once, and not again: {problem}")
        except (CopyFailed, ForkServerLost) as problem:
            yield replace(words, missing=str(problem))
        except MemoryError:
            # Remembered answers of other submissions may fill the memory: forget them all.
            self._explainer = Explainer(self._suite, self._mistakes)
            self._cache = ExplanationCache()
            yield replace(words, missing="its explanation needs more memory than an explainer has")
        except Exception as problem:
            why = f"the explainer failed on it ({type(problem).__name__})"
            yield replace(words, missing=why)

    def _limits(self, job: Mapping[str, Any]) -> SessionLimits:
        settings, call_timeout = self._settings, self._suite.assignment.call_timeout
        whole = 2 * settings.explain_seconds
        # A late call ends its worker: a quarter of the time is the most that one call may lose.
        call = min(call_timeout, settings.explain_seconds / 4)
        # An import that hung or crashed in the judge gets the time of one call, to find its line.
        is_lost = job["lost"] and job["status"] == GradeStatus.UNREADABLE
        own = call if is_lost else min(whole, settings.timeout)
        memory = settings.memory_mb << 20
        net = EXPLAINING_WALL_FACTOR * call
        return SessionLimits(whole, call, net, memory, settings.device, own, dumps_stack=True)

    def _words(
        self, session: Session, job: Mapping[str, Any], deadline: Deadline
    ) -> Iterator[Words]:
        submission, remarks = session.submission, job["remarks"]
        statuses = {test: Status(status) for test, status in job["statuses"].items()}
        if not any(status in (*REPEATED, *LOST) for status in statuses.values()):
            yield Words()
            return
        code = digest_below(submission.root)
        imported = replace(submission, name="", root=Path(), notes=())
        verdicts = (imported, tuple(statuses.items()), tuple(job["lost"].items()))
        known = None if code is None else self._cache.words(verdicts, code)
        if known is not None:
            yield _completed(known, submission.root, remarks)
            return
        losses = LostTests(session, submission.root)
        problem = session.open()
        if problem is not None:
            yield self._of_import(submission.root, job, statuses, problem, losses.line())
            return
        contract = self._suite.assignment.root / "adapters.py"
        words, workshop = Words(), RepairWorkshop(session, submission, self._slips, contract)
        for found in self._explainer.explain(
            session.ask, statuses, deadline, job["lost"], workshop, losses
        ):
            words = replace(found, evidence=replace(found.evidence, printed=session.printed))
            yield _completed(words, submission.root, remarks)
        if code is not None and not deadline.passed:
            self._cache.learn(verdicts, code, words)

    def _of_import(
        self,
        root: Path,
        job: Mapping[str, Any],
        statuses: Mapping[str, Status],
        problem: StudentFault,
        line: Line | None,
    ) -> Words:
        """Returns the words for a submission that cannot be imported, the same for every test."""
        if job["status"] != GradeStatus.UNREADABLE:
            return Words(missing=f"it was imported once, and not again: {plain(problem.message)}")
        said = Told(plain(problem.message), where=problem.where)
        if {problem.status, *statuses.values()} == {Status.TIMEOUT}:
            said = self._of_endless_import(job["message"], problem, line)
        evidence = Evidence(excerpts=excerpts(root, [said.where]))
        return Words(dict.fromkeys(statuses, said), said.message, evidence)

    def _of_endless_import(self, said: str, problem: StudentFault, line: Line | None) -> Told:
        """Returns the judge's words (`said`) on an endless import, with its line if known."""
        printed = problem.message.splitlines()[1:]
        if line is None:
            return Told(plain("\n".join([said, *printed])))
        told = hang_told(said, line, printed)
        return told._replace(message=f"it cannot be imported: {told.message}")


def _completed(words: Words, root: Path, remarks: Mapping[str, str]) -> Words:
    """Returns the words with the judge's remarks on tests and excerpts of the submission."""
    told = {
        test: one._replace(message="\n".join([one.message, remarks[test]]))
        if test in remarks
        else one
        for test, one in words.tests.items()
    }
    places = [one.where for one in told.values()]
    evidence = replace(words.evidence, excerpts=excerpts(root, places))
    return replace(words, tests=told, evidence=evidence)


def bound_this_process() -> None:
    """Bounds the memory of an explainer process and, on Linux, the size of files it writes."""
    limit_memory_growth(_MEMORY)
    if sys.platform == "linux":
        resource.setrlimit(resource.RLIMIT_FSIZE, (_LARGEST_FILE,) * 2)
