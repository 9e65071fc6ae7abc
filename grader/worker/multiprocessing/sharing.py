"""Locks, semaphores and managers of processes that are threads."""

from __future__ import annotations

import queue
import threading
from collections import UserDict, UserList
from collections.abc import Iterable
from multiprocessing.sharedctypes import Array, Value
from typing import Any

from grader.worker.multiprocessing.pools import Pool
from grader.worker.multiprocessing.processes import Shared, copied


class Lock(Shared):
    """A replacement for `multiprocessing.Lock`."""

    def __init__(self, *, ctx: object = None) -> None:
        self._lock: Any = threading.Lock()

    def acquire(self, block: bool = True, timeout: float | None = None) -> bool:
        """Takes the lock; returns whether it is held now."""
        if not block:
            return bool(self._lock.acquire(blocking=False))
        return bool(self._lock.acquire(timeout=-1 if timeout is None else max(timeout, 0)))

    def release(self) -> None:
        """Releases the lock."""
        self._lock.release()

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


class RLock(Lock):
    """A replacement for `multiprocessing.RLock`."""

    def __init__(self, *, ctx: object = None) -> None:
        self._lock = threading.RLock()


class Semaphore(threading.Semaphore):
    """A replacement for `multiprocessing.Semaphore`."""

    _most: int | None = None

    def __init__(self, value: int = 1, *, ctx: object = None) -> None:
        super().__init__(value)

    def acquire(self, block: bool = True, timeout: float | None = None) -> bool:
        """Takes one unit; returns whether one was left."""
        return super().acquire(block, timeout if block else None)

    __enter__ = acquire

    def release(self, n: int = 1) -> None:
        """Gives units back.

        Raises:
            ValueError: if a bounded semaphore would exceed its initial value.
        """
        if self._most is not None and self._value + n > self._most:
            raise ValueError("semaphore or lock released too many times")
        super().release(n)

    def get_value(self) -> int:
        """Returns how many units are left."""
        return self._value

    # The standard library's queues use the lock inside a semaphore.
    @property
    def _semlock(self) -> Semaphore:
        return self

    _get_value = get_value

    def _is_zero(self) -> bool:
        return self._value == 0


class BoundedSemaphore(Semaphore):
    """A replacement for `multiprocessing.BoundedSemaphore`."""

    def __init__(self, value: int = 1, *, ctx: object = None) -> None:
        super().__init__(value)
        self._most = value


class Condition(threading.Condition):
    """A replacement for `multiprocessing.Condition`."""

    def __init__(self, lock: Lock | None = None, *, ctx: object = None) -> None:
        super().__init__(threading.RLock() if lock is None else lock._lock)


class Event(threading.Event):
    """A replacement for `multiprocessing.Event`."""

    def __init__(self, *, ctx: object = None) -> None:
        super().__init__()


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

    def __repr__(self) -> str:
        return f"Namespace({', '.join(f'{name}={own!r}' for name, own in vars(self).items())})"


class ManagedQueue(queue.Queue[Any]):
    """A replacement for `Manager().Queue()` that copies its items."""

    def _put(self, item: Any) -> None:
        super()._put(copied(item))


class SyncManager:
    """A replacement for `multiprocessing.managers.SyncManager`."""

    dict, list, Namespace = Dictionary, Sequence, Namespace
    Queue, JoinableQueue, Pool = ManagedQueue, ManagedQueue, Pool
    Lock, RLock, Condition, Event = Lock, RLock, Condition, Event
    Semaphore, BoundedSemaphore, Barrier = Semaphore, BoundedSemaphore, Barrier
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
