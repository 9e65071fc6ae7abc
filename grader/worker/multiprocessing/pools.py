"""Pools and executors that run their tasks one after another, where they are submitted.

Observers of a call thus see the tasks as well. A task may wait for others if it gets a queue or an
event: it runs in a thread of its own.
"""

from __future__ import annotations

import multiprocessing.pool
import os
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from multiprocessing.pool import CLOSE, RUN
from types import SimpleNamespace
from typing import Any

from grader.worker.multiprocessing.processes import PackedCall, inherited, one_at_a_time


def _outcome(call: PackedCall) -> tuple[bool, Any]:
    """Returns whether a call succeeded, and its result or exception."""
    try:
        return True, call.made()
    except Exception as error:
        return False, error


def _prepared(initializer: Callable[..., Any] | None, initargs: Iterable[Any]) -> bool:
    """Runs the initializer of a pool; returns whether its tasks may wait on the arguments."""
    if initializer is None:
        return False
    own = tuple(initargs)
    initializer(*inherited(own))
    return PackedCall(initializer, own, {}).may_wait


def _worker_count(processes: int | None) -> int:
    return (os.cpu_count() or 1) if processes is None else processes


class Pool(multiprocessing.pool.Pool):
    """A replacement for `multiprocessing.pool.Pool`, whose methods all put tasks into a queue."""

    def __init__(
        self,
        processes: int | None = None,
        initializer: Callable[..., Any] | None = None,
        initargs: Iterable[Any] = (),
        maxtasksperchild: int | None = None,
        context: object = None,
    ) -> None:
        self._state = CLOSE
        self._processes = _worker_count(processes)
        if self._processes < 1:
            raise ValueError("Number of processes must be at least 1")
        self._waits = _prepared(initializer, initargs)
        self._state = RUN
        self._pool = range(self._processes)  # whose length the standard library shows
        self._cache: dict[int, Any] = {}  # of results to come, by their number
        self._taskqueue = SimpleNamespace(put=self._perform)
        self._threads = ThreadPoolExecutor(self._processes)

    def close(self) -> None:
        """Stops taking tasks."""
        self._state = CLOSE

    terminate = close

    def join(self) -> None:
        """Waits until all tasks are done.

        Raises:
            ValueError: if the pool still takes tasks.
        """
        if self._state == RUN:
            raise ValueError("Pool is still running")
        self._threads.shutdown()

    def _perform(self, work: tuple[Iterable[Any], Callable[[int], None] | None]) -> None:
        """Runs tasks as they are put, and tells an iterator of results how many there are."""
        tasks, set_length = work
        place = -1
        for number, place, function, args, kwargs in tasks:
            call = PackedCall(function, args, kwargs)
            if self._waits or call.may_wait:
                one_at_a_time()
                self._threads.submit(self._end, number, place, call)
            else:
                self._end(number, place, call)
        if set_length is not None:
            set_length(place + 1)

    def _end(self, number: int, place: int, call: PackedCall) -> None:
        self._cache[number]._set(place, _outcome(call))


class ThreadPool(multiprocessing.pool.ThreadPool):
    """The standard library's thread pool; its own `__init__` would find the replaced `Pool`."""

    __init__ = multiprocessing.pool.Pool.__init__


class ProcessPoolExecutor(ThreadPoolExecutor):
    """A replacement for `concurrent.futures.ProcessPoolExecutor`."""

    def __init__(
        self,
        max_workers: int | None = None,
        mp_context: object = None,
        initializer: Callable[..., Any] | None = None,
        initargs: Iterable[Any] = (),
        *,
        max_tasks_per_child: int | None = None,
    ) -> None:
        super().__init__(_worker_count(max_workers))
        self._waits = _prepared(initializer, initargs)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Returns the future of a call."""
        if self._shutdown:
            raise RuntimeError("cannot schedule new futures after shutdown")
        call = PackedCall(fn, args, kwargs)
        if self._waits or call.may_wait:
            one_at_a_time()
            return super().submit(call.made)
        done: Future[Any] = Future()
        is_made, result = _outcome(call)
        (done.set_result if is_made else done.set_exception)(result)
        return done
