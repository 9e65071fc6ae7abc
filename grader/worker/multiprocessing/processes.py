"""Processes that are threads; each goes on until it ends or waits.

A process has its variables for itself, and a thread has not: threads that share them must at least
not use them at once. Python lets another thread go on when one waits, and otherwise only after the
switch interval, which is made long.
"""

from __future__ import annotations

import contextlib
import copy
import ctypes
import itertools
import multiprocessing
import os
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from multiprocessing.process import BaseProcess
from typing import Any

from grader.worker.multiprocessing.copying import inherited

_KILLED, _TERMINATED = -9, -15
_SWITCH_SECONDS = 5.0
_LOOK_SECONDS = 1e-4
_MAIN = multiprocessing.current_process()
_of_this_thread = threading.local()


def one_at_a_time() -> None:
    """Lets a thread go on until it waits."""
    sys.setswitchinterval(_SWITCH_SECONDS)


def current_process() -> BaseProcess:
    """As `multiprocessing.current_process`: the process that this thread is."""
    found: BaseProcess = getattr(_of_this_thread, "process", _MAIN)
    return found


@contextlib.contextmanager
def being(process: BaseProcess) -> Iterator[None]:
    """Makes this thread that process meanwhile."""
    earlier = current_process()
    _of_this_thread.process = process
    try:
        yield
    finally:
        _of_this_thread.process = earlier


class _InPlace(BaseProcess):
    @property
    def ident(self) -> int:
        return os.getpid()

    pid = ident


def pool_process() -> BaseProcess:
    """Returns the process that code in a pool finds as its current process."""
    return _InPlace(name="ForkPoolWorker-1", daemon=True)


class Popen:
    """The thread behind a process that was started, with the interface of `popen_fork.Popen`."""

    method = "fork"
    _numbers = itertools.count(1)

    def __init__(self, process: BaseProcess) -> None:
        one_at_a_time()
        # Its arguments are the process's own; the rest it has in common with others.
        self._process = copy.copy(process)
        given: Any = vars(self._process)
        for name in ("_args", "_kwargs"):
            given[name] = type(given[name])(inherited(given[name]))
        given["_popen"] = self
        self.returncode: int | None = None
        self.pid = os.getpid() + next(self._numbers)
        self._ended = threading.Event()
        # At its end, whoever reads there comes to the end of the file.
        self.sentinel, self._alive = os.pipe()
        self._thread = threading.Thread(target=self._begin, daemon=True)
        self._thread.start()

    def poll(self, flag: int = 0) -> int | None:
        """Returns the exit code if the process has ended."""
        time.sleep(_LOOK_SECONDS)  # who asks again and again lets others go on
        return self.returncode

    def wait(self, timeout: float | None = None) -> int | None:
        """Returns the exit code if the process ends in time."""
        if timeout == 0:
            return self.poll()
        self._ended.wait(timeout)
        return self.returncode

    def terminate(self) -> None:
        """Ends the process, unless it waits for something that never comes."""
        self._end(_TERMINATED)

    def kill(self) -> None:
        """Does what `terminate` does."""
        self._end(_KILLED)

    def close(self) -> None:
        """Closes the sentinel."""
        with contextlib.suppress(OSError):
            os.close(self.sentinel)

    def _begin(self) -> None:
        with being(self._process):
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
            os.close(self._alive)
        vars(self._process)["_args"] = ()  # with its ends of pipes
        self._ended.set()


def _exit_code(leaving: SystemExit) -> int:
    if leaving.code is None or isinstance(leaving.code, int):
        return leaving.code or 0
    print(leaving.code, file=sys.stderr)
    return 1
