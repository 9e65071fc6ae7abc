"""Queues, locks and managers of processes that are threads."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from multiprocessing.sharedctypes import Array, Value
from types import SimpleNamespace
from typing import Any

from grader.worker.multiprocessing.pools import Pool
from grader.worker.multiprocessing.processes import Shared, copied


class Queue(queue.Queue[Any]):
    """A replacement for the queues of `multiprocessing`, but `SimpleQueue`; it copies its items."""

    def __init__(self, maxsize: int = 0, *, ctx: object = None) -> None:
        super().__init__(maxsize)

    def _put(self, item: Any) -> None:
        super()._put(copied(item))

    def close(self) -> None:
        """Does nothing: there is nothing to close."""

    join_thread = cancel_join_thread = close


JoinableQueue = Queue


def _without_context(make: Callable[..., Any]) -> Callable[..., Any]:
    def made(*args: Any, ctx: object = None, **kwargs: Any) -> Any:  # noqa: ARG001
        return make(*args, **kwargs)

    return made


Lock, RLock = _without_context(threading.Lock), _without_context(threading.RLock)
Condition, Event = _without_context(threading.Condition), _without_context(threading.Event)
Semaphore = _without_context(threading.Semaphore)
BoundedSemaphore = _without_context(threading.BoundedSemaphore)
Barrier = _without_context(threading.Barrier)


class Dictionary(dict[Any, Any], Shared):
    """A replacement for `Manager().dict()`."""


class Sequence(list[Any], Shared):
    """A replacement for `Manager().list()`."""


class Namespace(SimpleNamespace, Shared):
    """A replacement for `Manager().Namespace()`."""


class SyncManager:
    """A replacement for `multiprocessing.managers.SyncManager`."""

    dict, list, Namespace = Dictionary, Sequence, Namespace
    Queue = JoinableQueue = Queue
    Lock, RLock, Condition = threading.Lock, threading.RLock, threading.Condition
    Semaphore, BoundedSemaphore = threading.Semaphore, threading.BoundedSemaphore
    Event, Barrier, Pool = threading.Event, threading.Barrier, Pool
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
