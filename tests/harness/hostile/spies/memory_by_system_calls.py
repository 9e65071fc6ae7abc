"""Reads the memory of the processes above it by the system calls that debuggers use."""

import ctypes
import os
import platform

from accomplice import LIBC, ancestors, telling

PTRACE_SEIZE, PTRACE_DETACH = 0x4206, 17
READ, GETFD = (310, 438) if platform.machine() == "x86_64" else (270, 438)


class Span(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


def look():
    kept = ctypes.create_string_buffer(16)
    address = ctypes.addressof(ctypes.c_char.in_dll(LIBC, "stdout"))
    for pid in ancestors():
        ours, theirs = Span(ctypes.addressof(kept), 8), Span(address, 8)
        if LIBC.syscall(READ, pid, ctypes.byref(ours), 1, ctypes.byref(theirs), 1, 0) > 0:
            yield f"process_vm_readv reads process {pid}"
        if LIBC.ptrace(PTRACE_SEIZE, pid, 0, 0) == 0:
            yield f"ptrace holds process {pid}"
            LIBC.ptrace(PTRACE_DETACH, pid, 0, 0)
        descriptor = LIBC.syscall(434, pid, 0)
        for number in range(64 if descriptor >= 0 else 0):
            stolen = LIBC.syscall(GETFD, descriptor, number, 0)
            if stolen >= 0:
                yield f"descriptor {number} of process {pid} is {os.fstat(stolen)}"
                os.close(stolen)


run_double, run_count = telling(look)
