"""Pools and executors that run their tasks one after another, where they are submitted.

Observers of a call thus see the tasks as well. A task may wait for others if it gets a queue or an
event: it runs in a thread of its own.
"""

from __future__ import annotations

import multiprocessing.pool
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.pool import CLOSE, RUN, ApplyResult, IMapIterator
from typing import Any

from grader.worker.multiprocessing.processes import (
    PackedCall,
    being,
    inherited,
    one_at_a_time,
    pool_process,
)

# The mapper of calls with several arguments.
_STARRED: Any = vars(multiprocessing.pool)["starmapstar"]
# Whether the call succeeded, and its result or exception.
_Outcome = tuple[bool, Any]


def _made(call: PackedCall) -> Any:
    with being(pool_process()):
        return call.made()


def _outcome(call: PackedCall) -> _Outcome:
    try:
        return True, _made(call)
    except Exception as error:
        return False, error


def _prepared(initializer: Callable[..., Any] | None, initargs: Iterable[Any]) -> bool:
    """Runs the initializer of a pool; returns whether its tasks may wait on the arguments."""
    if initializer is None:
        return False
    if not callable(initializer):
        raise TypeError("initializer must be a callable")
    own = tuple(initargs)
    with being(pool_process()):
        initializer(*inherited(own))
    return PackedCall(initializer, own, {}).may_wait


def _many(processes: int | None) -> int:
    return (os.cpu_count() or 1) if processes is None else processes


class Pool(multiprocessing.pool.Pool):
    """A replacement for `multiprocessing.pool.Pool`, whose methods all end in those here."""

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
        self._cache: dict[int, Any] = {}  # for the result classes of the standard library
        self._threads: ThreadPool | None = None

    def apply_async(
        self,
        func: Any,
        args: Iterable[Any] = (),
        kwds: Mapping[str, Any] = {},
        callback: Any = None,
        error_callback: Any = None,
    ) -> Any:
        """Returns the future result of one call."""
        (call,) = self._packed(func, [tuple(args)], kwds)
        if self._are_for_threads([call]):
            return self._in_threads().apply_async(_made, (call,), {}, callback, error_callback)
        return self._result(_outcome(call), callback, error_callback)

    def _map_async(
        self,
        func: Any,
        iterable: Iterable[Any],
        mapper: Any,
        chunksize: int | None = None,
        callback: Any = None,
        error_callback: Any = None,
    ) -> Any:
        rows = iterable if mapper is _STARRED else ((item,) for item in iterable)
        calls = self._packed(func, rows)
        if self._are_for_threads(calls):
            return self._in_threads().map_async(_made, calls, 1, callback, error_callback)
        outcomes = list(map(_outcome, calls))
        failed = next((outcome for outcome in outcomes if not outcome[0]), None)
        whole = failed or (True, [result for _, result in outcomes])
        return self._result(whole, callback, error_callback)

    def imap(self, func: Any, iterable: Iterable[Any], chunksize: int | None = 1) -> Any:
        """Returns the results, one by one."""
        if chunksize is not None and chunksize < 1:
            raise ValueError(f"Chunksize must be 1+, not {chunksize:n}")
        calls = self._packed(func, ((item,) for item in iterable))
        if self._are_for_threads(calls):
            return self._in_threads().imap(_made, calls)
        results: Any = IMapIterator(self)
        for place, outcome in enumerate(map(_outcome, calls)):
            results._set(place, outcome)
        results._set_length(len(calls))
        return results

    imap_unordered = imap

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
        if self._threads is not None:
            self._threads.close()
            self._threads.join()

    def _packed(
        self, func: Any, rows: Iterable[Iterable[Any]], kwargs: Mapping[str, Any] = {}
    ) -> list[PackedCall]:
        if self._state != RUN:
            raise ValueError("Pool not running")
        return [PackedCall(func, tuple(args), dict(kwargs)) for args in rows]

    def _are_for_threads(self, calls: Iterable[PackedCall]) -> bool:
        return self._waits or any(call.may_wait for call in calls)

    def _in_threads(self) -> ThreadPool:
        one_at_a_time()
        self._threads = self._threads or ThreadPool(self._processes)
        return self._threads

    def _result(self, outcome: _Outcome, callback: Any, error_callback: Any) -> Any:
        result: Any = ApplyResult(self, callback, error_callback)
        result._set(0, outcome)
        return result


class ThreadPool(multiprocessing.pool.ThreadPool):
    """The standard library's thread pool; its own `__init__` would find the replaced `Pool`."""

    def __init__(
        self,
        processes: int | None = None,
        initializer: Callable[..., Any] | None = None,
        initargs: Iterable[Any] = (),
    ) -> None:
        _STANDARD_POOL.__init__(self, processes, initializer, initargs)


_STANDARD_POOL: Any = multiprocessing.pool.Pool


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
        if initializer is not None and not callable(initializer):
            raise TypeError("initializer must be a callable")
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

    def map(
        self,
        fn: Callable[..., Any],
        *iterables: Iterable[Any],
        timeout: float | None = None,
        chunksize: int = 1,
        **_later: Any,
    ) -> Iterator[Any]:
        """Returns the results, in the order of the calls."""
        if chunksize < 1:
            raise ValueError("chunksize must be >= 1.")
        return super().map(fn, *iterables, timeout=timeout)
