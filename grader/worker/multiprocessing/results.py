"""What becomes of a pool's tasks."""

from __future__ import annotations

import concurrent.futures
import multiprocessing
from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

from grader.worker.multiprocessing.turns import TURNS


class AsyncResult:
    """What becomes of tasks, as `multiprocessing.pool.AsyncResult`."""

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
    """What becomes of a whole `map`."""


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
