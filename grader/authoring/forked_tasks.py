"""Forked child processes that do tasks in parallel, each task within a time limit."""

from __future__ import annotations

import multiprocessing
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from typing import Generic, TypeVar

from grader.core.processes import end_with_parent, limit_memory_growth

Task = TypeVar("Task")
Result = TypeVar("Result")

# The bytes beyond the parent's own: an edited program may ask for all the memory there is.
_MEMORY = 2 << 30
# Loaded programs leave memory behind, which only the end of their child frees.
_MOST_TASKS = 250

ENDED = "when it was ended: it took too long"
DIED = "when its process died"


class Children(Generic[Task, Result]):
    """Forked children of this process, with copies of its memory, that do tasks of one kind.

    A child is killed and replaced if a task takes more than `seconds`, or more processor seconds
    than `may_take` allows (0: any number), and if no memory is left for it. It is also replaced
    after `most_tasks` tasks. Another exception of the work is raised here as a RuntimeError.
    """

    def __init__(
        self,
        work: Callable[[Task], Result],
        jobs: int,
        seconds: float,
        may_take: Callable[[Task], float] = lambda _: 0.0,
        most_tasks: int = _MOST_TASKS,
    ) -> None:
        self._work = work
        self._jobs = jobs
        self._seconds = seconds
        self._may_take = may_take
        self._most_tasks = most_tasks
        self._processes: list[ForkProcess] = []
        self._context = multiprocessing.get_context("fork")

    def done(self, tasks: Sequence[Task]) -> Iterator[tuple[int, Result | str]]:
        """Yields each finished task's number with its result, or the reason for having none."""
        waiting = iter(enumerate(tasks))
        busy: dict[Connection, _Child] = {}
        try:
            for _ in range(min(self._jobs, len(tasks))):
                self._give(self._child(), waiting, busy)
            while busy:
                soonest = min(one.until for one in busy.values())
                ready = wait(list(busy), timeout=max(0.0, soonest - time.monotonic()))
                for one in [one for one in busy.values() if one.connection in ready]:
                    del busy[one.connection]
                    child = one
                    try:
                        came = one.connection.recv()
                        if isinstance(came, RuntimeError):
                            raise came
                        one.tasks += 1
                        if one.tasks == self._most_tasks:
                            child = self._replaced(one)
                    except (EOFError, ConnectionError):
                        child = self._replaced(one)
                        came = ENDED if one.process.exitcode == -signal.SIGPROF else DIED
                    yield one.number, came
                    self._give(child, waiting, busy)
                late = (one for one in busy.values() if one.until <= time.monotonic())
                for one in [one for one in late if not one.connection.poll()]:
                    del busy[one.connection]
                    yield one.number, ENDED
                    self._give(self._replaced(one), waiting, busy)
        finally:
            while self._processes:
                process = self._processes.pop()
                process.kill()
                process.join()

    def _child(self) -> _Child:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=self._serve, args=(theirs,), daemon=True)
        process.start()
        self._processes.append(process)
        theirs.close()
        return _Child(process, ours)

    def _replaced(self, child: _Child) -> _Child:
        self._let_go(child)
        return self._child()

    def _let_go(self, child: _Child) -> None:
        child.connection.close()
        child.process.kill()
        child.process.join()
        self._processes.remove(child.process)

    def _give(
        self,
        child: _Child,
        waiting: Iterator[tuple[int, Task]],
        busy: dict[Connection, _Child],
    ) -> None:
        """Sends a child the next task, or ends the child if there is none."""
        for number, task in waiting:
            child.connection.send(task)
            child.number, child.until = number, time.monotonic() + self._seconds
            busy[child.connection] = child
            return
        self._let_go(child)

    def _serve(self, connection: Connection) -> None:
        end_with_parent()
        limit_memory_growth(_MEMORY)
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        # `multiprocessing` closes the inherited `__stdin__`, but some code needs an open one.
        vars(sys)["__stdin__"] = sys.stdin
        while True:
            try:
                task = connection.recv()
            except EOFError:
                return
            signal.setitimer(signal.ITIMER_PROF, self._may_take(task))
            try:
                connection.send(self._work(task))
            except MemoryError:  # Too little may be left for the next task, or to tell of it.
                return
            except Exception as exception:
                connection.send(RuntimeError("".join(traceback.format_exception(exception))))


@dataclass(slots=True, eq=False)
class _Child:
    """A child, its present task's number and deadline, and how many tasks it has done."""

    process: ForkProcess
    connection: Connection
    number: int = 0
    until: float = 0.0
    tasks: int = 0
