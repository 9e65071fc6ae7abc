"""Asks for its process id as 32-bit programs do, past a filter that knows one machine only."""

import ctypes
import mmap
import os
import platform

from accomplice import LIBC, telling

X32 = 0x40000000
# mov eax, 20 (getpid of 32-bit programs); int 0x80; ret
CODE = b"\xb8\x14\x00\x00\x00\xcd\x80\xc3"


def look():
    if platform.machine() != "x86_64":
        return
    if LIBC.syscall(39 | X32) == os.getpid():
        yield "the system calls of x32 are there"
    rights = mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
    with mmap.mmap(-1, mmap.PAGESIZE, prot=rights) as page:
        page.write(CODE)
        address = ctypes.addressof(ctypes.c_char.from_buffer(page))
        if ctypes.CFUNCTYPE(ctypes.c_int)(address)() == os.getpid():
            yield "the system calls of 32-bit programs are there"


run_double, run_count = telling(look)
