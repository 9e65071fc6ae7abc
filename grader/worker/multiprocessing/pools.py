"""Pools and executors that run their tasks one after another, where they are submitted.

Observers of a call thus see the tasks as well. A task may wait for others if it gets a queue or an
event: it runs in a thread of its own.
"""

from __future__ import annotations

import multiprocessing.pool
import os
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.pool import CLOSE, RUN
from types import SimpleNamespace
from typing import Any

from grader.worker.multiprocessing.processes import (
    PackedCall,
    being,
    inherited,
    one_at_a_time,
    pool_process,
)


def _made(call: PackedCall) -> Any:
    with being(pool_process()):
        return call.made()


def _outcome(call: PackedCall) -> tuple[bool, Any]:
    """Returns whether a call succeeded, and its result or exception."""
    try:
        return True, _made(call)
    except Exception as error:
        return False, error


def _prepared(initializer: Callable[..., Any] | None, initargs: Iterable[Any]) -> bool:
    """Runs the initializer of a pool; returns whether its tasks may wait on the arguments."""
    if initializer is None:
        return False
    own = tuple(initargs)
    with being(pool_process()):
        initializer(*inherited(own))
    return PackedCall(initializer, own, {}).may_wait


def _many(processes: int | None) -> int:
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
        self._processes = _many(processes)
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
        super().__init__(_many(max_workers))
        self._prepare: Callable[[], bool] | None = lambda: _prepared(initializer, initargs)
        self._waits = False
        self._is_broken = False

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Returns the future of a call."""
        done: Future[Any] = Future()
        if self._is_broken:
            raise BrokenProcessPool("A child process terminated abruptly")
        if self._shutdown:
            raise RuntimeError("cannot schedule new futures after shutdown")
        if self._prepare is not None:
            prepare, self._prepare = self._prepare, None
            try:
                self._waits = prepare()
            except Exception as error:
                self._is_broken = True
                done.set_exception(BrokenProcessPool(f"the initializer raised {error!r}"))
                return done
        call = PackedCall(fn, args, kwargs)
        if self._waits or call.may_wait:
            one_at_a_time()
            return super().submit(_made, call)
        try:
            done.set_result(_made(call))
        except Exception as error:
            done.set_exception(error)
        return done
