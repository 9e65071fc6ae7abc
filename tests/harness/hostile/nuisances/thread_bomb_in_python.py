"""Starts up to five thousand threads that wake up again and again to have the interpreter."""

import _thread
import threading
import time

from accomplice import HINTS, THREADS_ALLOWED, THREADS_TRIED, hoarding

SECONDS = HINTS.get("busy_seconds", 1)


def spin(begin):
    begin.wait(5)
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        pass


def take():
    begin, count = threading.Event(), 0
    threading.stack_size(64 << 10)
    try:
        while count < THREADS_TRIED:
            _thread.start_new_thread(spin, (begin,))
            count += 1
    except RuntimeError:
        pass  # the first refusal
    threading.stack_size(0)
    begin.set()
    yield count


run_double, run_count = hoarding(take, THREADS_ALLOWED)
