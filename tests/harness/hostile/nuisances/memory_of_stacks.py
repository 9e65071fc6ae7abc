"""Has threads fill the stacks that they were given."""

import ctypes
import threading

from accomplice import CHUNK, LIBC, TOO_MUCH_MEMORY, hoarding

SPARED = 1 << 20  # what a thread that calls a function needs


def fill_own_stack(filled, leave):
    attributes = ctypes.create_string_buffer(256)
    start, size = ctypes.c_void_p(), ctypes.c_size_t()
    LIBC.pthread_self.restype = ctypes.c_void_p
    LIBC.pthread_getattr_np(ctypes.c_void_p(LIBC.pthread_self()), attributes)
    LIBC.pthread_attr_getstack(attributes, ctypes.byref(start), ctypes.byref(size))
    ctypes.memset(start.value + SPARED, 7, size.value - 2 * SPARED)
    filled.set()
    leave.wait()


def take():
    leave, count = threading.Event(), 0
    threading.stack_size(CHUNK)
    try:
        while True:
            filled = threading.Event()
            threading.Thread(target=fill_own_stack, args=(filled, leave), daemon=True).start()
            filled.wait(2)
            count += 1
            yield count * (CHUNK - 2 * SPARED)
    finally:
        leave.set()
        threading.stack_size(0)


run_double, run_count = hoarding(take, TOO_MUCH_MEMORY)
