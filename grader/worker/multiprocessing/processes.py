"""Processes that are threads, and the pipes between them."""

from __future__ import annotations

import contextlib
import copy
import ctypes
import itertools
import multiprocessing
import os
import queue
import sys
import threading
import time
import traceback
from collections.abc import Iterable, Iterator
from multiprocessing import BufferTooShort
from multiprocessing.process import BaseProcess
from typing import Any

from grader.worker.multiprocessing.scheduler import TURNS, Waitable, crossed, in_a_thread, inherited

_KILLED, _TERMINATED = -9, -15


class Current:
    """Which process a thread is, as `multiprocessing.current_process` tells."""

    def __init__(self, main: BaseProcess) -> None:
        self._main = main
        self._own = threading.local()

    def process(self) -> BaseProcess:
        """The one that this thread is."""
        found: BaseProcess = getattr(self._own, "process", self._main)
        return found

    @contextlib.contextmanager
    def being(self, process: BaseProcess) -> Iterator[None]:
        """This thread is that process meanwhile."""
        earlier = self.process()
        self._own.process = process
        try:
            yield
        finally:
            self._own.process = earlier


class _InPlace(BaseProcess):
    """A process of a pool, which is the one that uses the pool."""

    @property
    def ident(self) -> int:
        return os.getpid()

    pid = ident


def pool_process(name: str) -> BaseProcess:
    """Returns the process that code in a pool finds as its current process."""
    return _InPlace(name=name, daemon=True)


CURRENT = Current(multiprocessing.current_process())


def current_process() -> BaseProcess:
    """As `multiprocessing.current_process`."""
    return CURRENT.process()


class Sentinel:
    """The `Process.sentinel` of a process, for callers that wait for its end."""

    def __init__(self, ended: threading.Event) -> None:
        self.is_ready = ended.is_set


class Popen:
    """The thread behind a process that was started, with the interface of `popen_fork.Popen`."""

    method = "fork"
    _numbers = itertools.count(1)

    def __init__(self, process: BaseProcess) -> None:
        # Of what the process was given it has its own; the rest it has in common with others.
        self._process = copy.copy(process)
        given: Any = vars(self._process)
        for name in ("_args", "_kwargs"):
            given[name] = type(given[name])(inherited(given[name]))
        self.returncode: int | None = None
        self.pid = os.getpid() + next(self._numbers)
        self._ended = threading.Event()
        self.sentinel = Sentinel(self._ended)
        self._thread = in_a_thread(self._begin)
        given["_popen"] = self

    def poll(self, flag: int = 0) -> int | None:
        """Its exit code, if it has ended; who asks again and again lets others go on."""
        return self.wait(0)

    def wait(self, timeout: float | None = None) -> int | None:
        """Its exit code, if it ends in time."""
        with TURNS.waiting():
            self._ended.wait(timeout)
        return self.returncode

    def terminate(self) -> None:
        """Ends it; what waits for something that never comes goes on waiting, and nobody knows."""
        self._end(_TERMINATED)

    def kill(self) -> None:
        """The same."""
        self._end(_KILLED)

    def close(self) -> None:
        """There is nothing to close."""

    def _begin(self) -> None:
        with TURNS.taken(), CURRENT.being(self._process):
            code = 0
            try:
                if self.returncode is None:
                    self._process.run()
            except SystemExit as leaving:
                code = _exit_code(leaving)
            except BaseException:
                code = 1
                print(f"Process {self._process.name}:", file=sys.stderr)
                traceback.print_exc()
            self._has_ended(code)

    def _end(self, code: int) -> None:
        self._has_ended(code)
        ident = ctypes.c_ulong(self._thread.ident or 0)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, ctypes.py_object(SystemExit))

    def _has_ended(self, code: int) -> None:
        if self.returncode is None:
            self.returncode = code
        self._ended.set()


def _exit_code(leaving: SystemExit) -> int:
    if leaving.code is None or isinstance(leaving.code, int):
        return leaving.code or 0
    print(leaving.code, file=sys.stderr)
    return 1


_LOOK_SECONDS = 0.002
_END = object()


class _Way:
    """One direction of a pipe, and how many may still write into it."""

    def __init__(self) -> None:
        self.items: queue.Queue[Any] = queue.Queue()
        self.writers = 0

    def leave(self) -> None:
        """One writer less; after the last one, readers come to the end."""
        self.writers -= 1
        if not self.writers:
            self.items.put(_END)


class Connection(Waitable):
    """One end of a pipe, as `multiprocessing.connection.Connection`."""

    def __init__(self, inwards: _Way | None, outwards: _Way | None) -> None:
        self._inwards, self._outwards = inwards, outwards
        self.readable, self.writable = inwards is not None, outwards is not None
        self.closed = False
        if outwards is not None:
            outwards.writers += 1

    def crossed(self) -> Connection:
        """An end of its own for the other process, which closes it by itself."""
        return Connection(self._inwards, self._outwards)

    def send(self, obj: Any) -> None:
        """Sends a copy."""
        self._checked(self._outwards).items.put(crossed(obj))

    def recv(self) -> Any:
        """The next thing that was sent.

        Raises:
            EOFError: if nobody is left who could send any.
        """
        items = self._checked(self._inwards).items
        with TURNS.waiting():
            item = items.get()
        if item is _END:
            items.put(_END)
            raise EOFError
        return item

    def poll(self, timeout: float | None = 0.0) -> bool:
        """Whether there is something to receive."""
        return bool(wait([self], timeout))

    def send_bytes(self, buf: Any, offset: int = 0, size: int | None = None) -> None:
        """Sends bytes."""
        data = bytes(memoryview(buf))[offset:]
        self.send(data if size is None else data[:size])

    def recv_bytes(self, maxlength: int | None = None) -> bytes:
        """The next bytes that were sent."""
        data = self.recv()
        if maxlength is not None and len(data) > maxlength:
            raise OSError("bad message length")
        return bytes(data)

    def recv_bytes_into(self, buf: Any, offset: int = 0) -> int:
        """The size of the next bytes that were sent, which are now in a buffer."""
        data = self.recv()
        if len(data) > len(memoryview(buf)) - offset:
            raise BufferTooShort(data)
        memoryview(buf)[offset : offset + len(data)] = data
        return len(data)

    def close(self) -> None:
        """Neither reads nor writes any more."""
        if not self.closed and self._outwards is not None:
            self._outwards.leave()
        self.closed = True

    def is_ready(self) -> bool:
        """Whether somebody who waits for it may go on."""
        return not self._checked(self._inwards).items.empty()

    def _checked(self, way: _Way | None) -> _Way:
        if self.closed:
            raise OSError("handle is closed")
        if way is None:
            raise OSError(f"connection is {'read' if self.readable else 'write'}-only")
        return way

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()


def Pipe(duplex: bool = True) -> tuple[Connection, Connection]:  # noqa: N802 (as it is called there)
    """Both ends of a pipe, as `multiprocessing.Pipe`: the first one reads, if only one does."""
    there, back = _Way(), _Way()
    if duplex:
        return Connection(back, there), Connection(there, back)
    return Connection(there, None), Connection(None, there)


def wait(object_list: Iterable[Any], timeout: float | None = None) -> list[Any]:
    """Those ends and sentinels that are ready, as `multiprocessing.connection.wait`."""
    waited = list(object_list)
    end = None if timeout is None else time.monotonic() + timeout
    while True:
        ready = [one for one in waited if one.is_ready()]
        if ready or (end is not None and time.monotonic() >= end):
            return ready
        with TURNS.waiting():
            time.sleep(_LOOK_SECONDS)
