"""`concurrent.futures.ProcessPoolExecutor` without processes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from grader.worker.multiprocessing.pools import Hands


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
        """What becomes of a call."""
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
