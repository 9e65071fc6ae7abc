"""Pools and executors: tasks are done one after another, where they are asked for.

So who looks on at a call sees them as well. A task that was handed what it may wait on (a queue, an
event) waits for others: it goes to a thread of its own.
"""

from __future__ import annotations

import concurrent.futures
import itertools
import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from grader.worker.multiprocessing.processes import CURRENT, pool_process
from grader.worker.multiprocessing.scheduler import TURNS, Packed, crossed, inherited, small_stacks


class AsyncResult:
    """The future result of tasks, as `multiprocessing.pool.AsyncResult`."""

    def __init__(self, tasks: list[Future[Any]], of_one: bool) -> None:
        self._tasks = tasks
        self._of_one = of_one

    def get(self, timeout: float | None = None) -> Any:
        """The result, or a list of all; what a task raised is raised.

        Raises:
            multiprocessing.TimeoutError: if it is not there in time.
        """
        self.wait(timeout)
        if not self.ready():
            raise multiprocessing.TimeoutError
        results = [task.result() for task in self._tasks]
        return results[0] if self._of_one else results

    def wait(self, timeout: float | None = None) -> None:
        """Waits for all."""
        with TURNS.waiting():
            concurrent.futures.wait(self._tasks, timeout)

    def ready(self) -> bool:
        """Whether all are done; who asks again and again lets others go on."""
        with TURNS.waiting():
            return all(task.done() for task in self._tasks)

    def successful(self) -> bool:
        """Whether none raised anything.

        Raises:
            ValueError: if they are not done yet.
        """
        if not self.ready():
            raise ValueError(f"{self!r} not ready")
        return all(task.exception() is None for task in self._tasks)


class MapResult(AsyncResult):
    """The future result of a whole `map`."""


class MappedResults:
    """The results of `imap`, one by one: a task is done when its result is asked for."""

    def __init__(self, tasks: Iterator[Future[Any]]) -> None:
        self._tasks = tasks

    def __iter__(self) -> MappedResults:
        return self

    def __next__(self) -> Any:
        return self.next()

    def next(self, timeout: float | None = None) -> Any:
        """The next result."""
        task = next(self._tasks)
        return AsyncResult([task], of_one=True).get(timeout)

    def finish(self) -> None:
        """Does what nobody asked for yet, and keeps the results."""
        self._tasks = iter(list(self._tasks))


class Hands:
    """Does tasks, in the thread that hands them over or, where they may wait, in threads."""

    def __init__(self, most: int, initializer: Callable[..., Any] | None, initargs: Any) -> None:
        self._most = most
        self._initializer = initializer
        self._initargs = tuple(initargs)
        self._waits = _may_wait(self._initargs)
        self._process = pool_process("ForkPoolWorker-1")
        self._threads: ThreadPoolExecutor | None = None

    def prepare(self) -> None:
        """Runs the initializer, once."""
        if self._initializer is not None:
            initializer, self._initializer = self._initializer, None
            with CURRENT.being(self._process):
                initializer(*inherited(self._initargs))

    def do(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Future[Any]:
        """Returns the future of a call; the call and its result are copied."""
        done: Future[Any] = Future()
        try:
            call = Packed((function, args, kwargs))
            if self._waits or call.may_wait:
                return self._in_a_thread(call)
            with CURRENT.being(self._process):
                done.set_result(_called(call))
        except Exception as error:
            done.set_exception(error)
        return done

    def finish(self) -> None:
        """Waits for the tasks that have threads of their own."""
        if self._threads is not None:
            with TURNS.waiting():
                self._threads.shutdown()
            self._threads = None

    def _in_a_thread(self, call: Packed) -> Future[Any]:
        if self._threads is None:
            self._threads = ThreadPoolExecutor(self._most)
        with small_stacks():
            return self._threads.submit(self._in_turn, call)

    def _in_turn(self, call: Packed) -> Any:
        with TURNS.taken(), CURRENT.being(self._process):
            return _called(call)


class Threads(Hands):
    """Does tasks in threads that share everything."""

    def do(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Future[Any]:
        """Returns the future of a call."""
        if self._threads is None:
            self._threads = ThreadPoolExecutor(self._most)
        with small_stacks():
            return self._threads.submit(function, *args, **kwargs)


def _called(call: Packed) -> Any:
    function, args, kwargs = call.unpacked()
    return crossed(function(*args, **kwargs))


def _may_wait(thing: Any) -> bool:
    try:
        return Packed(thing).may_wait
    except Exception:  # a forked process has it all the same
        return False


class Pool:
    """As `multiprocessing.pool.Pool`."""

    _hands_of: type[Hands] = Hands

    def __init__(
        self,
        processes: int | None = None,
        initializer: Callable[..., Any] | None = None,
        initargs: Iterable[Any] = (),
        maxtasksperchild: int | None = None,
        context: object = None,
    ) -> None:
        many = (os.cpu_count() or 1) if processes is None else processes
        if many < 1:
            raise ValueError("Number of processes must be at least 1")
        if initializer is not None and not callable(initializer):
            raise TypeError("initializer must be a callable")
        self._processes = many
        self._hands = self._hands_of(many, initializer, initargs)
        self._hands.prepare()
        self._is_open = True
        self._unfinished: list[MappedResults] = []
        self._begun: list[AsyncResult] = []

    def apply(self, func: Any, args: Iterable[Any] = (), kwds: Mapping[str, Any] = {}) -> Any:
        """The result of one call."""
        return self.apply_async(func, args, kwds).get()

    def apply_async(
        self,
        func: Any,
        args: Iterable[Any] = (),
        kwds: Mapping[str, Any] = {},
        callback: Any = None,
        error_callback: Any = None,
    ) -> AsyncResult:
        """Returns the future result of one call."""
        self._check_open()
        result = AsyncResult([self._hands.do(func, tuple(args), dict(kwds))], of_one=True)
        return self._told(result, callback, error_callback)

    def map(self, func: Any, iterable: Iterable[Any], chunksize: int | None = None) -> Any:
        """The results of all, in their order."""
        return self.map_async(func, iterable, chunksize).get()

    def starmap(self, func: Any, iterable: Iterable[Any], chunksize: int | None = None) -> Any:
        """The same, each with several arguments."""
        return self.starmap_async(func, iterable, chunksize).get()

    def map_async(
        self,
        func: Any,
        iterable: Iterable[Any],
        chunksize: int | None = None,
        callback: Any = None,
        error_callback: Any = None,
    ) -> AsyncResult:
        """Returns the future results of all calls."""
        each = ((item,) for item in iterable)
        return self.starmap_async(func, each, chunksize, callback, error_callback)

    def starmap_async(
        self,
        func: Any,
        iterable: Iterable[Any],
        chunksize: int | None = None,
        callback: Any = None,
        error_callback: Any = None,
    ) -> AsyncResult:
        """The same, each with several arguments."""
        self._check_open()
        result = MapResult([self._hands.do(func, tuple(args), {}) for args in iterable], False)
        return self._told(result, callback, error_callback)

    def imap(self, func: Any, iterable: Iterable[Any], chunksize: int = 1) -> MappedResults:
        """The results, one by one."""
        self._check_open()
        if chunksize < 1:
            raise ValueError(f"Chunksize must be 1+, not {chunksize:n}")
        results = MappedResults(self._hands.do(func, (item,), {}) for item in iterable)
        self._unfinished.append(results)
        return results

    imap_unordered = imap

    def close(self) -> None:
        """Takes no more tasks."""
        self._is_open = False

    def terminate(self) -> None:
        """Takes no more tasks."""
        self._is_open = False

    def join(self) -> None:
        """Waits until all tasks are done.

        Raises:
            ValueError: if there may be more of them.
        """
        if self._is_open:
            raise ValueError("Pool is still running")
        for results in self._unfinished:
            results.finish()
        for result in self._begun:
            result.wait()

    def _told(self, result: AsyncResult, callback: Any, error_callback: Any) -> AsyncResult:
        """The result, of which callbacks are told when all of it is there."""
        self._begun = [*itertools.dropwhile(AsyncResult.ready, self._begun), result]
        left = len(result._tasks)

        def tell(_done: object) -> None:
            nonlocal left
            left -= 1
            if left <= 0:
                failed = [task.exception() for task in result._tasks if task.exception()]
                if failed and error_callback is not None:
                    error_callback(failed[0])
                elif not failed and callback is not None:
                    callback(result.get())

        for task in result._tasks:
            task.add_done_callback(tell)
        if not result._tasks:
            tell(None)
        return result

    def _check_open(self) -> None:
        if not self._is_open:
            raise ValueError("Pool not running")

    def __enter__(self) -> Pool:
        self._check_open()
        return self

    def __exit__(self, *_: object) -> None:
        self.terminate()

    def __reduce__(self) -> Any:
        raise NotImplementedError("pool objects cannot be passed between processes or pickled")


class ThreadPool(Pool):
    """As `multiprocessing.pool.ThreadPool`."""

    _hands_of = Threads

    def __init__(
        self,
        processes: int | None = None,
        initializer: Callable[..., Any] | None = None,
        initargs: Iterable[Any] = (),
    ) -> None:
        super().__init__(processes, initializer, initargs)


class ProcessPoolExecutor(Executor):
    """Calls are done one after another, when they are submitted."""

    def __init__(
        self,
        max_workers: int | None = None,
        mp_context: object = None,
        initializer: Callable[..., Any] | None = None,
        initargs: Iterable[Any] = (),
        *,
        max_tasks_per_child: int | None = None,
    ) -> None:
        many = (os.cpu_count() or 1) if max_workers is None else max_workers
        if many <= 0:
            raise ValueError("max_workers must be greater than 0")
        if initializer is not None and not callable(initializer):
            raise TypeError("initializer must be a callable")
        self._max_workers = many
        self._hands = Hands(many, initializer, initargs)
        self._is_open, self._is_broken = True, False

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Returns the future of a call."""
        if self._is_broken:
            raise BrokenProcessPool("A child process terminated abruptly")
        if not self._is_open:
            raise RuntimeError("cannot schedule new futures after shutdown")
        try:
            self._hands.prepare()
        except Exception as error:
            self._is_broken = True
            failed: Future[Any] = Future()
            failed.set_exception(BrokenProcessPool(f"the initializer raised {error!r}"))
            return failed
        return self._hands.do(fn, args, kwargs)

    def map(
        self,
        fn: Callable[..., Any],
        *iterables: Iterable[Any],
        timeout: float | None = None,
        chunksize: int = 1,
        **_later: Any,
    ) -> Iterator[Any]:
        """The results, in the order of the calls."""
        if chunksize < 1:
            raise ValueError("chunksize must be >= 1.")
        return super().map(fn, *iterables, timeout=timeout)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Takes no more calls, and waits for those that wait for each other."""
        self._is_open = False
        if wait:
            self._hands.finish()
