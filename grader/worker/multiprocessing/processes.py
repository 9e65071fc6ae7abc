"""Processes that are threads; each runs until it ends or waits.

Threads share variables that processes would have for themselves, so only one may run at a time.
Python switches threads when one waits, and otherwise only after the switch interval, which is set
long. Arguments and results of a process are copied.
"""

from __future__ import annotations

import copy
import ctypes
import functools
import io
import itertools
import os
import pickle
import queue
import sys
import threading
import time
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from multiprocessing.queues import SimpleQueue
from multiprocessing.sharedctypes import SynchronizedBase
from typing import Any

import torch


class Shared:
    """The base of objects that processes share: they cross without a copy."""


# A task that gets one of these may wait on it for another process.
_WAITABLE = (
    *(threading.Event, threading.Condition, threading.Semaphore, threading.Barrier),
    *(queue.Queue, SimpleQueue, Connection),
)
_SHARED = (
    *(Shared, *_WAITABLE, type(threading.Lock()), type(threading.RLock())),
    *(SynchronizedBase, torch.Tensor),
    *(ctypes._SimpleCData, ctypes.Array, ctypes.Structure, ctypes.Union),
)
# Shared objects in transit, by number; each is taken out on arrival.
_on_their_way: dict[int, Any] = {}
_numbers = itertools.count()


class _Pickler(pickle.Pickler):
    may_wait = False

    def persistent_id(self, thing: Any) -> int | None:
        if not isinstance(thing, _SHARED):
            return None
        if isinstance(thing, Connection):  # each process closes its own end
            thing = Connection(os.dup(thing.fileno()), thing.readable, thing.writable)
        self.may_wait = self.may_wait or isinstance(thing, _WAITABLE)
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
    """A call in transit to another process; it may wait if it has an object to wait on."""

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
            Exception: that of the call, or that of `pickle` if an object cannot cross.
        """
        if isinstance(self._packed, Exception):
            raise self._packed
        function, args, kwargs = loads(self._packed)
        return copied(function(*args, **kwargs))


def dumps(thing: Any, _protocol: int | None = None) -> bytes:
    """Returns bytes of which `loads` makes a copy; shared objects are not part of them.

    Raises:
        Exception: that of `pickle` if the object cannot cross.
    """
    return _dumped(thing)[0]


def loads(packed: Any) -> Any:
    """Returns the copy; it can be made only once."""
    return _Unpickler(io.BytesIO(packed)).load()


def copied(thing: Any) -> Any:
    """Returns a copy, made as if the object crossed to another process.

    Raises:
        Exception: that of `pickle` if the object cannot cross.
    """
    return loads(dumps(thing))


def inherited(thing: Any) -> Any:
    """Returns a copy as a forked process has it, or the object itself if it cannot cross."""
    try:
        return copied(thing)
    except Exception:  # a submission's own `__reduce__` may raise anything
        return thing


def _dumped(thing: Any) -> tuple[bytes, bool]:
    file = io.BytesIO()
    pickler = _Pickler(file, pickle.HIGHEST_PROTOCOL)
    pickler.dump(thing)
    return file.getvalue(), pickler.may_wait


_KILLED, _TERMINATED = -9, -15
_SWITCH_SECONDS = 5.0
_LOOK_SECONDS = 1e-4


def one_at_a_time() -> None:
    """Lets each thread run until it waits."""
    sys.setswitchinterval(_SWITCH_SECONDS)


class Popen:
    """The thread behind a process that was started, with the interface of `popen_fork.Popen`."""

    method = "fork"
    sentinel = None
    _numbers = itertools.count(1)

    def __init__(self, process: BaseProcess) -> None:
        one_at_a_time()
        # The process has copies of its arguments, and shares everything else.
        self._process = copy.copy(process)
        given: Any = vars(self._process)
        for name in ("_args", "_kwargs"):
            given[name] = type(given[name])(inherited(given[name]))
        self.returncode: int | None = None
        self.pid = os.getpid() + next(self._numbers)
        self._ended = threading.Event()
        threading.Thread(target=self._begin, daemon=True).start()

    def poll(self, flag: int = 0) -> int | None:
        """Returns the exit code if the process has ended."""
        time.sleep(_LOOK_SECONDS)  # a loop that polls lets other threads run
        return self.returncode

    def wait(self, timeout: float | None = None) -> int | None:
        """Returns the exit code if the process ends in time."""
        self._ended.wait(timeout)
        return self.returncode

    def terminate(self) -> None:
        """Counts the process as ended; its thread waits on, or runs to its end unheeded."""
        self._end(_TERMINATED)

    def kill(self) -> None:
        """Does what `terminate` does."""
        self._end(_KILLED)

    def close(self) -> None:
        """Does nothing: there is nothing to close."""

    def _begin(self) -> None:
        code = 0
        try:
            self._process.run()
        except SystemExit as leaving:
            code = leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
        except BaseException:
            code = 1
            print(f"Process {self._process.name}:", file=sys.stderr)
            traceback.print_exc()
        self._end(code)

    def _end(self, code: int) -> None:
        if self.returncode is None:
            self.returncode = code
        vars(self._process)["_args"] = ()  # with its ends of pipes
        self._ended.set()
