"""Locks, semaphores and managers of processes that are threads."""

from __future__ import annotations

import multiprocessing
import queue
import threading
from collections import UserDict, UserList
from collections.abc import Iterable
from multiprocessing.sharedctypes import Array, Value
from typing import Any

from grader.worker.multiprocessing.pools import Pool
from grader.worker.multiprocessing.processes import Shared, copied

_RECURSIVE_MUTEX = 0  # in `multiprocessing/synchronize.py`


class SemLock:
    """A stand-in for `_multiprocessing.SemLock`, on which the standard library builds its locks."""

    handle, name = 0, None

    def __init__(self, kind: int, value: int, maxvalue: int, *_: object) -> None:
        self.maxvalue = maxvalue
        self._is_recursive = kind == _RECURSIVE_MUTEX
        self._units = threading.Semaphore(value)
        self._held = self._owner = 0

    def acquire(self, block: bool = True, timeout: float | None = None) -> bool:
        """Takes one unit; returns whether one was left."""
        if not (self._is_recursive and self._is_mine()):
            seconds = None if timeout is None or not block else max(timeout, 0)
            if not self._units.acquire(block, seconds):
                return False
            self._owner = threading.get_ident()
        self._held += 1
        return True

    __enter__ = acquire

    def release(self) -> None:
        """Gives one unit back.

        Raises:
            AssertionError: if another thread holds this recursive lock.
            ValueError: if there would be more units than at most.
        """
        if self._is_recursive and not self._is_mine():
            raise AssertionError("attempt to release recursive lock not owned by thread")
        if self._get_value() == self.maxvalue:
            raise ValueError("semaphore or lock released too many times")
        self._held -= 1
        if not (self._is_recursive and self._held):
            self._units.release()

    def __exit__(self, *_: object) -> None:
        self.release()

    def _is_mine(self) -> bool:
        return self._held > 0 and self._owner == threading.get_ident()

    def _count(self) -> int:
        return self._held

    def _get_value(self) -> int:
        return self._units._value

    def _is_zero(self) -> bool:
        return self._get_value() == 0


class Barrier(threading.Barrier):
    """A replacement for `multiprocessing.Barrier`."""

    def __init__(
        self, parties: int, action: Any = None, timeout: float | None = None, *, ctx: object = None
    ) -> None:
        super().__init__(parties, action, timeout)


class Dictionary(UserDict[Any, Any], Shared):
    """A replacement for `Manager().dict()` that copies values on their way in and out."""

    def __getitem__(self, key: Any) -> Any:
        return copied(self.data[key])

    def __setitem__(self, key: Any, value: Any) -> None:
        self.data[key] = copied(value)


class Sequence(UserList[Any], Shared):
    """A replacement for `Manager().list()` that copies items on their way in and out."""

    def __init__(self, items: Iterable[Any] = ()) -> None:
        super().__init__(copied(list(items)))

    def __getitem__(self, index: Any) -> Any:
        return copied(self.data[index])

    def __setitem__(self, index: Any, value: Any) -> None:
        self.data[index] = copied(list(value) if isinstance(index, slice) else value)

    def __add__(self, other: Iterable[Any]) -> Any:
        return [*self, *other]

    def append(self, item: Any) -> None:
        """Appends a copy."""
        self.data.append(copied(item))

    def insert(self, i: int, item: Any) -> None:
        """Inserts a copy."""
        self.data.insert(i, copied(item))

    def extend(self, other: Iterable[Any]) -> None:
        """Appends copies."""
        self.data.extend(copied(list(other)))


class Namespace(Shared):
    """A replacement for `Manager().Namespace()` that copies values when they are set."""

    def __init__(self, **kept: Any) -> None:
        vars(self).update(copied(kept))

    def __setattr__(self, name: str, value: Any) -> None:
        vars(self)[name] = copied(value)


class ManagedQueue(queue.Queue[Any]):
    """A replacement for `Manager().Queue()` that copies its items."""

    def _put(self, item: Any) -> None:
        super()._put(copied(item))


class SyncManager:
    """A replacement for `multiprocessing.managers.SyncManager`."""

    dict, list, Namespace = Dictionary, Sequence, Namespace
    Queue, JoinableQueue, Pool = ManagedQueue, ManagedQueue, Pool
    Lock, RLock, Condition = multiprocessing.Lock, multiprocessing.RLock, multiprocessing.Condition
    Semaphore, BoundedSemaphore = multiprocessing.Semaphore, multiprocessing.BoundedSemaphore
    Event, Barrier = multiprocessing.Event, multiprocessing.Barrier
    Value, Array = staticmethod(Value), staticmethod(Array)

    def __init__(self, *_: object, **__: object) -> None:
        """Ignores a manager's address and authentication, because it has no process."""

    def start(self, *_: object, **__: object) -> None:
        """Does nothing: there is nothing to start."""

    connect = shutdown = join = start

    def __enter__(self) -> SyncManager:
        return self

    def __exit__(self, *_: object) -> None:
        """Does nothing: there is nothing to end."""
