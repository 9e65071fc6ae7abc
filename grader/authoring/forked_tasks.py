"""Forked child processes that do tasks in parallel, each task within a time limit."""

from __future__ import annotations

import functools
import math
import multiprocessing
import signal
import sys
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, TypeVar

from grader.core.processes import end_with_parent, limit_memory_growth

Task = TypeVar("Task")
Result = TypeVar("Result")

# The bytes beyond the parent's own: an edited program may ask for all the memory there is.
_MEMORY = 2 << 30

# The ends of sentences that say why a task has no result.
ENDED = "when it was ended: it took too long"
DIED = "when its process died"


Numbered = Sequence[tuple[int, Task]]


class _Child(Generic[Task]):
    """A child, its tasks that are not done yet, and the deadline of the first one."""

    def __init__(self, do: Callable[[Numbered[Task], Connection], None], tasks: Numbered[Task]):
        context = multiprocessing.get_context("fork")
        self.tasks = tasks
        self.until = math.inf
        self.connection, theirs = context.Pipe()
        self._process = context.Process(target=do, args=(tasks, theirs), daemon=True)
        self._process.start()
        theirs.close()

    def next_result(self) -> Any:
        """Returns the next result, or the reason for having none; raises if the work did."""
        if not self.connection.poll():
            self.end()
            return ENDED
        try:
            result = self.connection.recv()
        except (EOFError, ConnectionError):
            self._process.join()
            return ENDED if self._process.exitcode == -signal.SIGPROF else DIED
        if isinstance(result, RuntimeError):
            raise result
        return result

    @property
    def has_ended(self) -> bool:
        """Returns whether it is dead or has done all its tasks."""
        return not self.tasks or self._process.exitcode is not None

    def end(self) -> None:
        """Kills the child."""
        self.connection.close()
        self._process.kill()
        self._process.join()


def in_children(
    work: Callable[[Task], Result],
    tasks: Sequence[Task],
    jobs: int,
    seconds: float,
    may_take: Callable[[Task], float] = lambda _: 0.0,
    each: int = 1,
) -> Iterator[tuple[int, Result | str]]:
    """Yields each finished task's number with its result, or the reason for having none.

    Each forked child gets up to `each` tasks. It is killed if a task takes more than `seconds`, or
    more processor seconds than `may_take` allows (0: any number); another child does the rest.

    Raises:
        RuntimeError: if the work raises anything but a MemoryError.
    """
    numbered = [*enumerate(tasks)]
    waiting = deque(numbered[start : start + each] for start in range(0, len(tasks), each))
    busy: list[_Child[Task]] = []
    try:
        while waiting or busy:
            while waiting and len(busy) < jobs:
                busy.append(_Child(functools.partial(_serve, work, may_take), waiting.popleft()))
                busy[-1].until = time.monotonic() + seconds
            soonest = min(one.until for one in busy) - time.monotonic()
            ready = wait([one.connection for one in busy], timeout=max(0.0, soonest))
            for one in [*busy]:
                if one.connection in ready or one.until <= time.monotonic():
                    (number, _), *one.tasks = one.tasks
                    yield number, one.next_result()
                    one.until = time.monotonic() + seconds
                    if one.has_ended:
                        one.end()
                        busy.remove(one)
                        waiting.extendleft([one.tasks] if one.tasks else [])
    finally:
        for one in busy:
            one.end()


def _serve(
    work: Callable[[Task], Result],
    may_take: Callable[[Task], float],
    tasks: Numbered[Task],
    connection: Connection,
) -> None:
    end_with_parent()
    limit_memory_growth(_MEMORY)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    # `multiprocessing` closes the inherited `__stdin__`, but some code needs an open one.
    vars(sys)["__stdin__"] = sys.stdin
    for _, task in tasks:
        signal.setitimer(signal.ITIMER_PROF, may_take(task))
        try:
            connection.send(work(task))
        except MemoryError:  # too little may be left for the next task, or to tell of it
            return
        except Exception as exception:
            connection.send(RuntimeError("".join(traceback.format_exception(exception))))
