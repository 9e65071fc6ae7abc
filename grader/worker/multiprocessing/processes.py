"""A process that is a thread: what `multiprocessing.Process` starts instead of forking."""

from __future__ import annotations

import contextlib
import copy
import ctypes
import itertools
import multiprocessing
import os
import sys
import threading
import traceback
from collections.abc import Iterator
from multiprocessing.process import BaseProcess
from typing import Any

from grader.worker.multiprocessing.crossing import inherited
from grader.worker.multiprocessing.turns import TURNS, in_a_thread

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
    """What somebody finds who asks which process of a pool does the work."""
    return _InPlace(name=name, daemon=True)


CURRENT = Current(multiprocessing.current_process())


def current_process() -> BaseProcess:
    """As `multiprocessing.current_process`."""
    return CURRENT.process()


class Sentinel:
    """What `Process.sentinel` is, for those who wait for its end."""

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
