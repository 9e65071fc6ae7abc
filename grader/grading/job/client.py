"""The coordinator's end of a job's process."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from grader.core.assignment import EXPLAINING_WALL_FACTOR, WALL_FACTOR, BadAssignment, Settings
from grader.core.explanation import Words
from grader.core.points import BY_HAND
from grader.core.processes import signal_name
from grader.core.verdict import Grade, Status, Verdict
from grader.core.wire.records import read
from grader.grading.job.lines import (
    COMMAND,
    JobProcess,
    NoJob,
    Role,
    start_jobs,
)
from grader.grading.options import Task
from grader.intake.entry import Entry

Follow = Callable[[Verdict], None]
START_SECONDS = 300.0
# Seconds for a judge's own work: copying the submission, the references, the tests.
OWN_SECONDS = 180.0
# Seconds for an explainer to stop by itself.
_GRACE_SECONDS = 5.0
# The explainer gets the judge's message on these: only the judge knows how long it waited.
_LOST = (Status.TIMEOUT, Status.CRASHED)
# The bytes of one line: words quote much of a submission.
_LONGEST_LINE = 64 << 20


class JobLost(Exception):
    """A job's process that ended or does not answer; the text says which."""


class JobClient:
    """One job, which grades or explains one submission at a time; used by one thread.

    `command` starts the process that forks the job; `submissions` is about how many will come.
    """

    command: ClassVar[Sequence[str]] = COMMAND

    def __init__(self, settings: Settings, submissions: int = 1) -> None:
        self._settings = settings
        self._submissions = submissions
        self._process: JobProcess | None = None
        self._is_greeted = False
        self._role: Role | None = None
        self._child = 0
        self._unread = bytearray()

    @classmethod
    def several(
        cls,
        settings: Settings,
        count: int,
        submissions: int,
    ) -> list[JobClient]:
        """Starts `count` jobs that share one collection of tests, and returns them."""
        clients = [cls(settings, submissions) for _ in range(count)]
        processes = start_jobs(cls.command, count)
        for client, process in zip(clients, processes, strict=True):
            client._process = process
        clients[0]._tell_settings()
        return clients

    def grade(self, task: Task, follow: Follow | None = None) -> Grade:
        """Returns the grade of a submission; `follow` is given each verdict when it is reached.

        Raises:
            JobLost: if the judge ended, or does not answer.
            BadAssignment: if the assignment's tests cannot be run.
        """
        self._become(Role.JUDGE)
        self._send({"follow": follow is not None} | task.without_people.as_json())
        seconds = WALL_FACTOR * self._settings.timeout + OWN_SECONDS
        deadline = time.monotonic() + seconds
        while True:
            reply = self._receive(seconds, deadline)
            if "ended" in reply:
                self._role = None
                raise JobLost(f"the judge was lost: it ended{_code_in_words(reply['ended'])}")
            if "grade" in reply:
                try:
                    return Grade.from_json(reply["grade"])
                except (LookupError, TypeError, ValueError) as error:
                    raise self._lost(f"its grade cannot be read ({error})") from error
            if follow is not None:
                follow(read(Verdict, reply["verdict"]))

    def explain(self, entry: Entry, grade: Grade) -> Words:
        """Returns the words for a submission with this grade.

        If some are missing, the words say why.

        Raises:
            BadAssignment: if the assignment's tests cannot be run.
        """
        job = {
            "entry": entry.without_people.as_json(),
            "status": grade.status,
            "message": grade.message,
            "statuses": {test.id: test.status for test in grade.tests},
            "remarks": remarks_of(grade),
            "lost": {test.id: test.message for test in grade.tests if test.status in _LOST},
        }
        words = Words()
        seconds = EXPLAINING_WALL_FACTOR * self._settings.explain_seconds
        try:
            self._become(Role.EXPLAINER)
            self._send(job)
            deadline = time.monotonic() + seconds + _GRACE_SECONDS
            while "explained" not in (reply := self._receive(seconds, deadline, is_patient=True)):
                if "ended" in reply:
                    self._role = None
                    why = f"the explainer was lost: it ended{_code_in_words(reply['ended'])}"
                    return replace(words, missing=why)
                if not reply:
                    return replace(words, missing=self._stopped(seconds))
                words = Words.from_json(reply["words"])
        except JobLost as lost:
            return replace(words, missing=str(lost))
        except (LookupError, TypeError, ValueError, AttributeError, zlib.error) as error:
            self._lost("its explanation is damaged")
            why = f"the explanation is damaged ({type(error).__name__})"
            return replace(words, missing=why)
        return words

    def close(self) -> None:
        """Ends the job; it takes its fork server and workers with it."""
        process, self._process = self._process, None
        if process is not None:
            process.end()

    def kill(self) -> None:
        """Ends the job at once, from any thread."""
        if (process := self._process) is not None:
            process.kill()

    def _become(self, role: Role) -> None:
        if self._process is None:
            try:
                (self._process,) = start_jobs(self.command, 1)
            except NoJob as problem:
                raise JobLost(str(problem)) from problem
            self._is_greeted = False
            self._tell_settings()
        if not self._is_greeted:
            self._greet()
        if self._role is role:
            return
        deadline = time.monotonic() + START_SECONDS
        if self._role is not None:
            self._send({"leave": True})
            while "ended" not in self._receive(START_SECONDS, deadline):
                continue
        self._role = None
        self._send({"be": role} | ({"seed": self._settings.seed} if role is Role.JUDGE else {}))
        reply = self._receive(START_SECONDS, deadline)
        if "ready" not in reply:
            raise JobLost(f"the {role} was lost: it ended{_code_in_words(reply.get('ended'))}")
        self._role, self._child = role, reply["ready"]["pid"]

    def _stopped(self, seconds: float) -> str:
        """Kills an explainer that is late; returns the reason for missing words."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(self._child, signal.SIGKILL)
        self._role = None
        self._unread.clear()
        deadline = time.monotonic() + START_SECONDS
        while "ended" not in self._receive(START_SECONDS, deadline):
            continue
        return f"the explainer took longer than {seconds:.3g} seconds and was stopped"

    def _tell_settings(self) -> None:
        # The explainer cannot leak a seed that it does not have.
        settings = replace(self._settings, seed=0).as_json()
        self._send(settings | {"submissions": self._submissions})

    def _greet(self) -> None:
        self._role = None
        self._unread.clear()
        reply = self._receive(START_SECONDS, time.monotonic() + START_SECONDS)
        if self._process is not None:
            self._process.pid = reply["collected"].get("pid", 0)
        self._is_greeted = True

    def _send(self, line: dict[str, Any]) -> None:
        try:
            if self._process is not None:
                self._process.send(json.dumps(line).encode() + b"\n")
        except OSError as error:
            raise self._lost(f"it does not listen ({error.strerror})") from error

    def _receive(
        self, seconds: float, deadline: float, is_patient: bool = False
    ) -> Mapping[str, Any]:
        """Returns the next line; the `seconds` that it may take end at `deadline`.

        If none came by then, the job is lost, or the line is empty if the caller `is_patient`.
        """
        while b"\n" not in self._unread:
            answer = self._process.answer if self._process else None
            left = max(deadline - time.monotonic(), 0)
            if answer is not None and not select.select([answer], [], [], left)[0]:
                if is_patient:
                    return {}
                raise self._lost(f"it did not answer within {seconds:.0f} seconds")
            data = os.read(answer, 1 << 20) if answer is not None else b""
            if not data:
                raise self._lost("it ended")
            self._unread += data
            if len(self._unread) > _LONGEST_LINE:
                raise self._lost("its answer is too long")
        line, _, rest = bytes(self._unread).partition(b"\n")
        self._unread = bytearray(rest)
        try:
            reply: dict[str, Any] = json.loads(line)
        except ValueError:  # it was killed in the midst of a line
            return self._receive(seconds, deadline, is_patient)
        if "stopped" in reply:
            self.close()
            raise BadAssignment(str(reply["stopped"]))
        if "gone" in reply:
            raise self._lost("it ended", reply["gone"])
        return reply

    def _lost(self, why: str, code: int | None = None) -> JobLost:
        role = self._role or "job"
        process, self._process = self._process, None
        self._role = None
        if process is not None:
            process.kill()
            ended = process.end()
            code = code or ended or None
        return JobLost(f"the {role} was lost: {why}{_code_in_words(code)}")


def remarks_of(grade: Grade) -> dict[str, str]:
    """Returns the lines that the judge added to messages, by the ids of tests that did not pass.

    A grade that was explained before also has the explainer's lines, which are left out.
    """
    remarks = {}
    for test in grade.tests:
        _, *lines = (test.message or "").split("\n")
        own = [one for one in lines if test.status is Status.MISSING or BY_HAND in one]
        if own and test.status is not Status.PASSED:
            remarks[test.id] = "\n".join(own)
    return remarks


def _code_in_words(code: int | None) -> str:
    if code is None:
        return ""
    return f" ({signal_name(-code)})" if code < 0 else f" (exit code {code})"
