"""Locks, events and queues between processes that are threads: whoever waits lets others go on."""

from __future__ import annotations

import queue
import threading
from typing import Any

from grader.worker.multiprocessing.crossing import Shared, Waitable, crossed
from grader.worker.multiprocessing.turns import TURNS


class _AnyLock(Shared):
    """As `multiprocessing.Lock`; `_lock` is one of `threading`."""

    _lock: Any

    def acquire(self, block: bool = True, timeout: float | None = None) -> bool:
        """Whether it is held now."""
        with TURNS.waiting():
            if not block:
                return bool(self._lock.acquire(blocking=False))
            return bool(self._lock.acquire(timeout=-1 if timeout is None else max(timeout, 0)))

    def release(self) -> None:
        """Lets others have it."""
        self._lock.release()

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


class Lock(_AnyLock):
    """As `multiprocessing.Lock`."""

    def __init__(self, *, ctx: object = None) -> None:
        self._lock = threading.Lock()


class RLock(_AnyLock):
    """As `multiprocessing.RLock`."""

    def __init__(self, *, ctx: object = None) -> None:
        self._lock = threading.RLock()


class Semaphore(threading.Semaphore, Waitable):
    """As `multiprocessing.Semaphore`."""

    def __init__(self, value: int = 1, *, ctx: object = None) -> None:
        super().__init__(value)

    def acquire(self, block: bool = True, timeout: float | None = None) -> bool:
        """Whether one was left."""
        with TURNS.waiting():
            return super().acquire(block, timeout if block else None)

    __enter__ = acquire

    def get_value(self) -> int:
        """How many are left."""
        return self._value


class BoundedSemaphore(threading.BoundedSemaphore, Waitable):
    """As `multiprocessing.BoundedSemaphore`."""

    def __init__(self, value: int = 1, *, ctx: object = None) -> None:
        super().__init__(value)

    def acquire(self, block: bool = True, timeout: float | None = None) -> bool:
        """Whether one was left."""
        with TURNS.waiting():
            return super().acquire(block, timeout if block else None)

    __enter__ = acquire

    def get_value(self) -> int:
        """How many are left."""
        return self._value


class Condition(threading.Condition, Waitable):
    """As `multiprocessing.Condition`."""

    def __init__(self, lock: _AnyLock | None = None, *, ctx: object = None) -> None:
        super().__init__(threading.RLock() if lock is None else lock._lock)

    def __enter__(self) -> bool:
        with TURNS.waiting():
            return super().__enter__()

    def wait(self, timeout: float | None = None) -> bool:
        """Whether it was notified."""
        with TURNS.waiting():
            return super().wait(timeout)


class Event(threading.Event, Waitable):
    """As `multiprocessing.Event`."""

    def __init__(self, *, ctx: object = None) -> None:
        super().__init__()

    def is_set(self) -> bool:
        """Whether it is; who asks again and again lets others go on."""
        with TURNS.waiting():
            return super().is_set()

    def wait(self, timeout: float | None = None) -> bool:
        """Whether it was set."""
        with TURNS.waiting():
            return super().wait(timeout)


class Barrier(threading.Barrier, Waitable):
    """As `multiprocessing.Barrier`."""

    def __init__(
        self, parties: int, action: Any = None, timeout: float | None = None, *, ctx: object = None
    ) -> None:
        super().__init__(parties, action, timeout)

    def wait(self, timeout: float | None = None) -> int:
        """The number of this one among those that waited."""
        with TURNS.waiting():
            return super().wait(timeout)


class JoinableQueue(queue.Queue[Any], Waitable):
    """As `multiprocessing.JoinableQueue`; what goes through it is copied."""

    def __init__(self, maxsize: int = 0, *, ctx: object = None) -> None:
        super().__init__(max(maxsize, 0))

    def put(self, obj: Any, block: bool = True, timeout: float | None = None) -> None:
        """Adds a copy."""
        copy = crossed(obj)
        with TURNS.waiting():
            super().put(copy, block, timeout)

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        """The next item."""
        with TURNS.waiting():
            return super().get(block, timeout)

    def empty(self) -> bool:
        """Whether nothing is in it; who asks again and again lets others go on."""
        with TURNS.waiting():
            return super().empty()

    def join(self) -> None:
        """Waits until all that was put was done."""
        with TURNS.waiting():
            super().join()

    def close(self) -> None:
        """Nothing: it is gone with the last one who has it."""

    join_thread = cancel_join_thread = close


class Queue(JoinableQueue):
    """As `multiprocessing.Queue`."""


class SimpleQueue(JoinableQueue):
    """As `multiprocessing.SimpleQueue`."""

    def __init__(self, *, ctx: object = None) -> None:
        super().__init__()
