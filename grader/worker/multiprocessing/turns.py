"""Threads in place of processes: one goes on at a time, and the next one when it waits.

A process has its variables for itself, and a thread has not: what shares them must at least not be
at them at once. Whoever started them takes no turns.
"""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Callable, Iterator

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
