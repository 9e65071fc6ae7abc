"""A job at work: it is a judge or an explainer, one at a time, each in a child of its own.

Judge and explainer so share what both need, and neither has what the other has found: the judge
alone knows the seed of the batch. What a child is to do comes in by lines of JSON, until it is told
to leave.

A judge answers a submission with its grade, and before that, if the line says `"follow": true`,
with each verdict when it is reached. An explainer answers with words, more with each line.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO

from grader.assignment import Assignment, BadAssignment
from grader.explainer.service import ExplainerService, bound_this_process
from grader.explaining.naming.mistakes import KnownMistakes, load_mistakes
from grader.intake import IntakeClient
from grader.job.roles import Role
from grader.job.shorthand import ShorthandWriter
from grader.judge.service import JudgeService
from grader.parentage import end_with_parent
from grader.removal import remove
from grader.sandbox.forkserver import ForkServerLost
from grader.sandbox.forkservers import ForkServers
from grader.settings import Settings
from grader.suite.suite import Suite


class Job:
    """Forks a child for each role that is asked for."""

    def __init__(
        self,
        settings: Settings,
        servers: ForkServers,
        intake: IntakeClient,
        scratch: Path,
        replies: TextIO,
    ) -> None:
        self._settings = settings
        self._servers = servers
        self._intake = intake
        self._scratch = scratch
        self._replies = replies

    def open(self, assignment: Assignment) -> None:
        """Collects an assignment's tests, and serves with them.

        Raises:
            BadAssignment: if they cannot be used as they are.
        """
        Suite(assignment, self._settings.exercises).open(self.serve)

    def serve(self, suite: Suite) -> None:
        """Is what it is told to be, until nobody is there to tell."""
        mistakes = load_mistakes(suite.assignment.root, suite.references)
        gc.freeze()
        gc.enable()
        self._say({"collected": {"max_score": suite.max_score}})
        with contextlib.suppress(BrokenPipeError):
            for line in sys.stdin:
                order = json.loads(line)
                code = self._as_child(suite, mistakes, order)
                if code != 0:
                    # Nobody knows what is left of its workers, unread of their answers, or unsaid.
                    self._servers.give_up()
                    self._intake.give_up()
                    for left in self._scratch.iterdir():
                        remove(left)
                    self._replies.write("\n")
                self._say({"ended": code})

    def _as_child(self, suite: Suite, mistakes: KnownMistakes, order: dict[str, Any]) -> int:
        """How the child ended that was what the order says: its exit code, or minus the signal."""
        # Why there is no fork server, the child will find out, and tell.
        with contextlib.suppress(ForkServerLost):
            self._servers.current().wait_until_ready()
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                end_with_parent(parent)
                self._be(suite, mistakes, order)
                code = 0
            except BadAssignment as problem:
                self._say({"stopped": str(problem)})
            finally:
                self._servers.close_own()
                self._intake.close_own()
                os._exit(code)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    def _be(self, suite: Suite, mistakes: KnownMistakes, order: dict[str, Any]) -> None:
        if Role(order["be"]) is Role.JUDGE:
            self._judge(suite, replace(self._settings, seed=order["seed"]))
        else:
            bound_this_process()
            shared = self._settings, self._servers, self._intake, self._scratch
            self._explain(ExplainerService(suite, mistakes, *shared))

    def _judge(self, suite: Suite, settings: Settings) -> None:
        shared = self._servers, self._intake, self._scratch
        service = JudgeService(suite, settings, *shared, self._say)
        service.prepare()
        shorthand = ShorthandWriter()
        self._say({"ready": {"pid": os.getpid()}})
        for job in _jobs():
            self._say({"grade": shorthand.written(service.grade(job))})

    def _explain(self, service: ExplainerService) -> None:
        self._say({"ready": {"pid": os.getpid()}})
        for job in _jobs():
            for words in service.explain(job):
                self._say({"words": words.as_json()})
            self._say({"explained": None})

    def _say(self, line: dict[str, Any]) -> None:
        self._replies.write(json.dumps(line, allow_nan=False) + "\n")
        self._replies.flush()


def _jobs() -> Iterator[dict[str, Any]]:
    """The submissions that come in, until it is time to leave."""
    for line in sys.stdin:
        job = json.loads(line)
        if job == {"leave": True}:
            return
        yield job
    os._exit(0)  # the coordinator has hung up
