"""Threads in place of processes: one goes on at a time, on copies of what it is given.

A process has its variables for itself, and a thread has not: what shares them must at least not be
at them at once. Whoever started them takes no turns.

Whoever changes an argument changes a copy of it there, and so it is here.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import io
import pickle
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from multiprocessing.sharedctypes import SynchronizedBase
from typing import Any

import torch

# Bytes for each thread, of those that a worker may have: a pool of 64 fits into half of them.
_STACK = 4 << 20


class Scheduler:
    """Whose turn it is; those that ask for one get it in the order in which they asked."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._asking: deque[threading.Lock] = deque()
        self._is_taken = False
        self._mine = threading.local()

    @contextlib.contextmanager
    def taken(self) -> Iterator[None]:
        """Waits for a turn, and has it until the end."""
        self._take()
        try:
            yield
        finally:
            self._hand_on()

    @contextlib.contextmanager
    def waiting(self) -> Iterator[None]:
        """Lets others go on meanwhile; nothing for those who take no turns."""
        if not getattr(self._mine, "is_it", False):
            yield
            return
        self._hand_on()
        try:
            yield
        finally:
            self._take()

    def _take(self) -> None:
        own = threading.Lock()
        with self._guard:
            is_free = not self._is_taken
            self._is_taken = True
            if not is_free:
                own.acquire()
                self._asking.append(own)
        own.acquire()
        self._mine.is_it = True

    def _hand_on(self) -> None:
        self._mine.is_it = False
        with self._guard:
            if self._asking:
                self._asking.popleft().release()
            else:
                self._is_taken = False


TURNS = Scheduler()


@contextlib.contextmanager
def small_stacks() -> Iterator[None]:
    """Threads that are started meanwhile take little memory."""
    earlier = threading.stack_size(_STACK)
    try:
        yield
    finally:
        threading.stack_size(earlier)


def in_a_thread(work: Callable[[], None]) -> threading.Thread:
    """A thread of its own that does some work.

    Raises:
        RuntimeError: if there can be no more threads.
    """
    thread = threading.Thread(target=work, daemon=True)
    with small_stacks():
        thread.start()
    return thread


# What the memory of processes that share it is made of.
_OF_MEMORY = (
    *(ctypes._SimpleCData, ctypes.Array, ctypes.Structure, ctypes.Union, SynchronizedBase),
    torch.Tensor,
)


class Shared:
    """What processes have in common: it crosses as it is."""

    def crossed(self) -> Any:
        """What the other side gets."""
        return self


class Waitable(Shared):
    """What a process may wait on until another one does something."""


class _Packing(pickle.Pickler):
    """Writes what crosses, and keeps apart what is shared."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self.shared: list[Any] = []

    def persistent_id(self, thing: Any) -> int | None:
        if not isinstance(thing, (Shared, *_OF_MEMORY)):
            return None
        self.shared.append(thing)
        return len(self.shared) - 1


class _Unpacking(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, shared: list[Any]) -> None:
        super().__init__(file)
        self._shared = shared

    def persistent_load(self, number: Any) -> Any:
        thing = self._shared[number]
        return thing.crossed() if isinstance(thing, Shared) else thing

    def find_class(self, module: str, name: str) -> Any:
        """Returns the object of a name, and never waits for a thread that imports its module."""
        if module not in sys.modules:
            return super().find_class(module, name)
        return functools.reduce(getattr, name.split("."), sys.modules[module])


class Packed:
    """Something on its way.

    Raises:
        Exception: whatever `pickle` raises of what cannot cross.
    """

    def __init__(self, thing: Any) -> None:
        self._file = io.BytesIO()
        packing = _Packing(self._file)
        packing.dump(thing)
        self._shared = packing.shared

    @property
    def may_wait(self) -> bool:
        """Whether somebody who gets this may wait for others."""
        return any(isinstance(one, Waitable) for one in self._shared)

    def unpacked(self) -> Any:
        """The copy that arrives, as processes make theirs."""
        self._file.seek(0)
        return _Unpacking(self._file, self._shared).load()


def crossed(thing: Any) -> Any:
    """A copy, made as processes make theirs.

    Raises:
        Exception: whatever `pickle` raises of what cannot cross.
    """
    return Packed(thing).unpacked()


def inherited(thing: Any) -> Any:
    """A copy as a forked process has it: also of what cannot cross, which is then no copy."""
    try:
        return crossed(thing)
    except Exception:  # whatever a submission's own `__reduce__` raises
        return thing
