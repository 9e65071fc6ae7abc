"""Jobs of one collection of tests: each is a process of its own, forked once these are there."""

from __future__ import annotations

import gc
import os
from collections.abc import Sequence

import torch.fx.experimental.symbolic_shapes  # noqa: F401  (what gradients need: once for all)

from grader.core.assignment import Assignment
from grader.core.parentage import end_with_parent
from grader.core.settings import Settings
from grader.explain.mistakes.mistakes import load_mistakes
from grader.grading.job.lines import LineChannel
from grader.grading.job.work import Collected, work
from grader.sandbox.zygote import Zygote
from grader.testing.suite.suite import Suite


class Jobs:
    """As many jobs as there are `ends`, at which they listen and answer."""

    def __init__(self, settings: Settings, zygote: Zygote, ends: Sequence[LineChannel]) -> None:
        self._settings = settings
        self._zygote = zygote
        self._ends = ends

    def open(self, assignment: Assignment) -> None:
        """Collects an assignment's tests, forks the jobs, and waits until all of them have ended.

        Raises:
            BadAssignment: if the tests cannot be used as they are.
        """
        Suite(assignment, self._settings.exercises).open(self._fork_all)

    def _fork_all(self, suite: Suite) -> None:
        mistakes = load_mistakes(suite.assignment.root, suite.references)
        collected = Collected(self._settings, suite, mistakes, self._zygote)
        gc.freeze()
        gc.enable()
        running = {self._fork(collected, end): end for end in self._ends}
        for end in self._ends:
            end.stop_listening()
        while running:
            pid, status = os.wait()
            if pid in running:
                end = running.pop(pid)
                end.end_line()
                end.say({"gone": os.waitstatus_to_exitcode(status)})
                end.close()

    def _fork(self, collected: Collected, end: LineChannel) -> int:
        """Forks the job that has this end; its process id."""
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                end_with_parent(parent)
                os.setsid()
                for other in self._ends:
                    if other is not end:
                        other.close()
                work(collected, end)
                code = 0
            finally:
                os._exit(code)
        return pid
