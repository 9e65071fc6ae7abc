"""Starts up to five thousand threads that compute, none of them waiting for the interpreter."""

import _thread
import hashlib
import threading
import time

from accomplice import HINTS, THREADS_ALLOWED, THREADS_TRIED, hoarding

SECONDS = HINTS.get("busy_seconds", 1)
DATA = bytes(1 << 18)


def compute(begin):
    begin.wait(5)
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        hashlib.sha256(DATA)


def take():
    begin, count = threading.Event(), 0
    threading.stack_size(64 << 10)
    try:
        while count < THREADS_TRIED:
            _thread.start_new_thread(compute, (begin,))
            count += 1
    except RuntimeError:
        pass  # the first refusal
    threading.stack_size(0)
    begin.set()
    yield count


run_double, run_count = hoarding(take, THREADS_ALLOWED)
