"""Managers: what processes have in common by way of one of them; here everybody has it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableMapping, MutableSequence
from multiprocessing.sharedctypes import Array, Value
from typing import Any

from grader.worker.multiprocessing.crossing import Shared, crossed
from grader.worker.multiprocessing.pools import Pool
from grader.worker.multiprocessing.synchronising import (
    Barrier,
    BoundedSemaphore,
    Condition,
    Event,
    JoinableQueue,
    Lock,
    Queue,
    RLock,
    Semaphore,
)


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
