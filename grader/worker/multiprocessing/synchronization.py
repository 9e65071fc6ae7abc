"""Locks, events, queues and managers of processes that are threads."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable, Iterator, MutableMapping, MutableSequence
from multiprocessing.sharedctypes import Array, Value
from typing import Any

from grader.worker.multiprocessing.pools import Pool
from grader.worker.multiprocessing.scheduler import TURNS, Shared, Waitable, crossed


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


class Dictionary(MutableMapping[Any, Any], Shared):
    """As `Manager().dict()`: what is put in and taken out is copied."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._kept: dict[Any, Any] = {}
        self.update(*args, **kwargs)

    def __getitem__(self, key: Any) -> Any:
        return crossed(self._kept[key])

    def __setitem__(self, key: Any, value: Any) -> None:
        self._kept[key] = crossed(value)

    def __delitem__(self, key: Any) -> None:
        del self._kept[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(list(self._kept))

    def __len__(self) -> int:
        return len(self._kept)

    def __str__(self) -> str:
        return str(self._kept)

    def copy(self) -> dict[Any, Any]:
        """An ordinary dict."""
        return dict(crossed(self._kept))

    def _getvalue(self) -> dict[Any, Any]:
        return self.copy()

    def keys(self) -> Any:
        """The keys, as a list."""
        return list(self._kept)

    def values(self) -> Any:
        """The values, as a list."""
        return list(self.copy().values())

    def items(self) -> Any:
        """The pairs, as a list."""
        return list(self.copy().items())


class Sequence(MutableSequence[Any], Shared):
    """As `Manager().list()`: what is put in and taken out is copied."""

    def __init__(self, items: Iterable[Any] = ()) -> None:
        self._kept = list(crossed(list(items)))

    def __getitem__(self, index: Any) -> Any:
        return crossed(self._kept[index])

    def __setitem__(self, index: Any, value: Any) -> None:
        self._kept[index] = crossed(list(value) if isinstance(index, slice) else value)

    def __delitem__(self, index: Any) -> None:
        del self._kept[index]

    def __len__(self) -> int:
        return len(self._kept)

    def __str__(self) -> str:
        return str(self._kept)

    def __add__(self, other: Iterable[Any]) -> list[Any]:
        return [*self, *other]

    def __mul__(self, times: int) -> list[Any]:
        return [*self] * times

    def _getvalue(self) -> list[Any]:
        return list(crossed(self._kept))

    def insert(self, index: int, value: Any) -> None:
        """Puts a copy in."""
        self._kept.insert(index, crossed(value))

    def sort(self, **options: Any) -> None:
        """Sorts it."""
        self._kept.sort(**options)


class Namespace(Shared):
    """As `Manager().Namespace()`: what is set and read is copied."""

    def __init__(self, **kept: Any) -> None:
        vars(self).update(crossed(kept))

    def __setattr__(self, name: str, value: Any) -> None:
        vars(self)[name] = crossed(value)

    def __repr__(self) -> str:
        return f"Namespace({', '.join(f'{name}={own!r}' for name, own in vars(self).items())})"


class SyncManager:
    """As `multiprocessing.managers.SyncManager`."""

    dict, list, Namespace = Dictionary, Sequence, Namespace
    Queue, JoinableQueue, Pool = Queue, JoinableQueue, Pool
    Lock, RLock, Condition, Event = Lock, RLock, Condition, Event
    Semaphore, BoundedSemaphore, Barrier = Semaphore, BoundedSemaphore, Barrier
    Value, Array = staticmethod(Value), staticmethod(Array)

    def __init__(self, *_: object, **__: object) -> None:
        """It has no process, so that nothing says where or how."""

    def start(self, *_: object, **__: object) -> None:
        """There is nothing to start."""

    connect = shutdown = join = start

    def __enter__(self) -> SyncManager:
        return self

    def __exit__(self, *_: object) -> None:
        """There is nothing to end."""
