"""Copies what goes to a process and comes back, and shares what processes have in common."""

from __future__ import annotations

import ctypes
import functools
import io
import itertools
import os
import pickle
import queue
import sys
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.queues import Queue, SimpleQueue
from multiprocessing.sharedctypes import SynchronizedBase
from typing import Any

import torch


class Shared:
    """Something that processes have in common: it crosses as it is."""


# Somebody who gets one of these may wait on it until another process does something.
WAITABLE = (
    *(threading.Event, threading.Condition, threading.Semaphore, threading.Barrier),
    *(queue.Queue, Queue, SimpleQueue, Connection),
)
_SHARED = (
    *(Shared, *WAITABLE, SynchronizedBase, torch.Tensor),
    *(ctypes._SimpleCData, ctypes.Array, ctypes.Structure, ctypes.Union),
)
# By number, on its way: what is shared is taken out where it arrives.
_on_their_way: dict[int, Any] = {}
_numbers = itertools.count()


class _Pickler(pickle.Pickler):
    may_wait = False

    def persistent_id(self, thing: Any) -> int | None:
        if not isinstance(thing, _SHARED):
            return None
        if isinstance(thing, Connection):  # each process closes its own end
            thing = Connection(os.dup(thing.fileno()), thing.readable, thing.writable)
        self.may_wait = self.may_wait or isinstance(thing, WAITABLE)
        number = next(_numbers)
        _on_their_way[number] = thing
        return number


class _Unpickler(pickle.Unpickler):
    def persistent_load(self, number: Any) -> Any:
        return _on_their_way.pop(number)

    def find_class(self, module: str, name: str) -> Any:
        """Returns the object of a name, and never waits for a thread that imports its module."""
        if module not in sys.modules:
            return super().find_class(module, name)
        return functools.reduce(getattr, name.split("."), sys.modules[module])


class PackedCall:
    """A call on its way to another process, which may wait if it was handed what it can wait on."""

    def __init__(self, function: Callable[..., Any], args: Any, kwargs: Any) -> None:
        self.may_wait = False
        self._packed: bytes | Exception
        try:
            self._packed, self.may_wait = _dumped((function, args, kwargs))
        except Exception as error:
            self._packed = error

    def made(self) -> Any:
        """Makes the call on the copies; returns a copy of its result.

        Raises:
            Exception: what the call raises, or `pickle` of what cannot cross.
        """
        if isinstance(self._packed, Exception):
            raise self._packed
        function, args, kwargs = loads(self._packed)
        return copied(function(*args, **kwargs))


def dumps(thing: Any, _protocol: int | None = None) -> bytes:
    """Returns what `loads` makes a copy of; things that are shared are no part of it.

    Raises:
        Exception: whatever `pickle` raises of what cannot cross.
    """
    return _dumped(thing)[0]


def loads(packed: Any) -> Any:
    """Returns the copy that arrives, once."""
    return _Unpickler(io.BytesIO(packed)).load()


def copied(thing: Any) -> Any:
    """Returns a copy, made as processes make theirs.

    Raises:
        Exception: whatever `pickle` raises of what cannot cross.
    """
    return loads(dumps(thing))


def inherited(thing: Any) -> Any:
    """Returns a copy as a forked process has it, or the thing itself if it cannot cross."""
    try:
        return copied(thing)
    except Exception:  # whatever a submission's own `__reduce__` raises
        return thing


def _dumped(thing: Any) -> tuple[bytes, bool]:
    file = io.BytesIO()
    pickler = _Pickler(file, pickle.HIGHEST_PROTOCOL)
    pickler.dump(thing)
    return file.getvalue(), pickler.may_wait
