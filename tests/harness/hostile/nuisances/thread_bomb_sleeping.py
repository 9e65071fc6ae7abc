"""Starts up to five thousand threads that sleep."""

import _thread
import threading

from accomplice import THREADS_ALLOWED, THREADS_TRIED, hoarding


def take():
    leave, count = threading.Event(), 0
    threading.stack_size(64 << 10)
    try:
        while count < THREADS_TRIED:
            _thread.start_new_thread(leave.wait, (10,))
            count += 1
    except RuntimeError:
        pass  # the first refusal
    try:
        yield count
    finally:
        leave.set()
        threading.stack_size(0)


run_double, run_count = hoarding(take, THREADS_ALLOWED)
