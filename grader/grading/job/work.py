"""Jobs at work: forked from one collection of tests, each forks a judge or an explainer.

Judge and explainer share the modules that both need, but not their results; only the judge knows
the seed of the batch. A child reads submissions as lines of JSON, until a line says to leave. For a
single submission, the modules that explain are loaded while the judge works.

A judge answers a submission with its grade. If the line says `"follow": true`, it first sends each
verdict when it is reached. An explainer answers with words, more with each line.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader.core.assignment import BadAssignment, Settings
from grader.core.folders import new_scratch, remove
from grader.core.processes import end_with_parent, limit_memory_growth
from grader.grading.job.lines import LineChannel, Role
from grader.grading.judge.service import JudgeService, memory_bound
from grader.intake.client import IntakeClient
from grader.intake.copying import is_of_the_machine
from grader.sandbox.fork_server import ForkServerLost, ForkServers
from grader.sandbox.zygote import Zygote
from grader.testing.suite import Suite

if TYPE_CHECKING:
    from grader.explain.explainer.service import ExplainerService

# The number of new objects after which the garbage collector looks for cycles.
_ALLOCATED = 50_000


@dataclass(slots=True)
class Collected:
    """The data that all jobs inherit from the process that forked them."""

    settings: Settings
    suite: Suite
    zygote: Zygote
    explaining: Explaining | None


class Explaining:
    """The known mistakes and rewrite rules, and the modules of the engine that explain.

    Raises:
        BadAssignment: if the mistakes or the rules cannot be used as they are.
    """

    def __init__(self, suite: Suite) -> None:
        from grader.explain.explainer import service
        from grader.explain.mistakes.mistakes import load_mistakes
        from grader.explain.rewriting.slips import load_slips

        self.service = service
        self.mistakes = load_mistakes(suite.assignment.root, suite.references)
        self.slips = load_slips(suite.assignment.root)


def work(collected: Collected, lines: LineChannel) -> None:
    """Runs one job until the coordinator hangs up."""
    with new_scratch() as scratch:
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(scratch / "inductor")
        # Temporary files of references and tests go there too: a killed job leaves none behind.
        tempfile.tempdir = str(scratch)
        servers = ForkServers(collected.zygote, scratch, collected.settings.device)
        with servers, IntakeClient() as intake:
            Job(collected, lines, servers, intake, scratch).serve()


@dataclass(frozen=True, slots=True)
class Job:
    """A job, which forks a child for each role that the coordinator asks for."""

    collected: Collected
    lines: LineChannel
    servers: ForkServers
    intake: IntakeClient
    scratch: Path

    def serve(self) -> None:
        """Forks a child for each order, until the coordinator hangs up."""
        max_score = self.collected.suite.max_score
        self.lines.say({"collected": {"max_score": max_score, "pid": os.getpid()}})
        for order in self.lines:
            code = self._as_child(order)
            if code != 0:
                # The child may have left workers, unread answers, or half a line.
                self.servers.give_up()
                self.intake.give_up()
                for left in self.scratch.iterdir():
                    remove(left)
                self.lines.end_line()
            self.lines.say({"ended": code})

    def _as_child(self, order: dict[str, Any]) -> int:
        """Forks a child for this order; returns its exit code, or minus the signal."""
        # If there is no fork server, the child finds out why, and reports it.
        with contextlib.suppress(ForkServerLost):
            self.servers.current().wait_until_ready()
        if Role(order["be"]) is Role.EXPLAINER:
            self._loaded()
        pid = _forked(lambda: self._be(order), self.lines)
        try:
            self._loaded()  # while the judge is at work
        finally:
            code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        return code

    def _loaded(self) -> Explaining:
        if self.collected.explaining is None:
            self.collected.explaining = Explaining(self.collected.suite)
        return self.collected.explaining

    def _be(self, order: dict[str, Any]) -> None:
        collected, shared = self.collected, (self.servers, self.intake, self.scratch)
        suite, settings = collected.suite, collected.settings
        try:
            if Role(order["be"]) is Role.JUDGE:
                settings = replace(settings, seed=order["seed"])
                limit_memory_growth(memory_bound(settings))
                self._judge(JudgeService(suite, settings, *shared, self.lines.say))
            else:
                explaining = self._loaded()
                explaining.service.bound_this_process()
                # It makes and drops thousands of syntax trees: looking for cycles in them as often
                # as usual takes a sixth of its time.
                gc.set_threshold(_ALLOCATED)
                new = explaining.service.ExplainerService
                mistakes, slips = explaining.mistakes, explaining.slips
                self._explain(new(suite, mistakes, slips, settings, *shared))
        finally:
            self.servers.close_own()
            self.intake.close_own()

    def _judge(self, service: JudgeService) -> None:
        service.prepare()
        self.lines.say({"ready": {"pid": os.getpid()}})
        for job in self._submissions():
            self.lines.say({"grade": service.grade(job).as_json(whole=True)})

    def _explain(self, service: ExplainerService) -> None:
        self.lines.say({"ready": {"pid": os.getpid()}})
        for job in self._submissions():
            for words in service.explain(job):
                self.lines.say({"words": words.as_json()})
            self.lines.say({"explained": None})

    def _submissions(self) -> Iterator[dict[str, Any]]:
        """Yields each submission that comes in, until the coordinator says to leave."""
        for job in self.lines:
            if job == {"leave": True}:
                return
            yield job
        os._exit(0)  # the coordinator has hung up


def run_jobs(collected: Collected, ends: Sequence[LineChannel]) -> None:
    """Forks a job for each of the `ends`, at which it reads and answers; waits for all."""

    def job(end: LineChannel) -> None:
        os.setsid()
        for other in ends:
            if other is not end:
                other.close()
        work(collected, end)

    gc.freeze()
    gc.enable()
    running = {_forked(partial(job, end), end): end for end in ends}
    while running:
        pid, status = os.wait()
        if pid in running:
            end = running.pop(pid)
            end.end_line()
            end.say({"gone": os.waitstatus_to_exitcode(status)})
            end.close()


def _forked(do: Callable[[], None], lines: LineChannel) -> int:
    """Forks a child that ends after `do`; returns its process id."""
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            end_with_parent(parent)
            do()
            code = 0
        except BadAssignment as problem:
            lines.say({"stopped": str(problem)})
        except BaseException as problem:
            if is_of_the_machine(problem):
                print(f"grader: this machine has no room for a job: {problem}", file=sys.stderr)
            else:
                traceback.print_exc()
        finally:
            os._exit(code)
    return pid
