"""Other ways to take more memory and disk than allowed: more than `most`.

This module stands beside `grader/sandbox/attempts/taking.py` where it is used.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import mmap
import os
import socket
import struct
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy
from numpy.lib.stride_tricks import as_strided

from .taking import CHUNK, Held, holds, new_file, written

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mmap.restype = ctypes.c_void_p
PAGE = mmap.PAGESIZE
SHARED, PRIVATE = mmap.MAP_SHARED | mmap.MAP_ANONYMOUS, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
READABLE, WRITABLE = mmap.PROT_READ, mmap.PROT_READ | mmap.PROT_WRITE
_NO_RESERVE = 0x4000
_DONTNEED, _NO_HUGE_PAGES = 4, 15
_KEEP_SIZE = 1
_POPULATE = 0x8000
_SET_PIPE_SIZE = 1031
LIBC.mremap.restype = ctypes.c_void_p


def run_files(most: int) -> bool:
    def take() -> Held:
        for number in range(most + 2):
            os.close(new_file(f"{number:0200}"))
            yield number

    return holds(take(), most)


def run_for_ever() -> bool:
    time.sleep(1000)
    return True


def run_memory_forgotten(most: int) -> bool:
    """Drops shared pages from the process's page tables, while the kernel keeps them."""

    def forget(address: int) -> int:
        LIBC.madvise(ctypes.c_void_p(address), ctypes.c_size_t(CHUNK), _DONTNEED)
        return address

    return holds(mapped(SHARED, forget), most)


def run_memory_read_only(most: int) -> bool:
    """Maps memory and makes it read-only, because the limit on data does not count such memory."""
    return holds(mapped(PRIVATE, made_read_only), most)


def run_memory_of_page_tables(most: int) -> bool:
    """Takes a page of page table for every two megabytes of addresses that it touches."""
    span, step = 16 << 30, 2 << 20

    def take() -> Held:
        kept: list[int] = []
        try:
            while True:
                kept.append(map_memory(span, READABLE, PRIVATE | _NO_RESERVE))
                LIBC.madvise(ctypes.c_void_p(kept[-1]), ctypes.c_size_t(span), _NO_HUGE_PAGES)
                first = numpy.ctypeslib.as_array((ctypes.c_uint8 * 1).from_address(kept[-1]))
                as_strided(first, (span // step,), (step,)).sum()
                yield len(kept) * span // step * PAGE
        finally:
            for address in kept:
                unmap(address, span)

    return holds(take(), most)


def run_memory_by_a_page(most: int) -> bool:
    """Keeps whole shared mappings in memory by one page each that stays mapped."""

    def cut(address: int) -> int:
        unmap(address + PAGE, CHUNK - PAGE)
        return address

    return holds(mapped(SHARED, cut), most)


def run_memory_mapped_twice(most: int) -> bool:
    def move(address: int) -> int:
        nothing, page = ctypes.c_size_t(0), ctypes.c_size_t(PAGE)
        moved = LIBC.mremap(ctypes.c_void_p(address), nothing, page, 1)
        unmap(address, CHUNK)
        return checked(moved)

    return holds(mapped(SHARED, move), most)


def run_memory_at_once(most: int) -> bool:
    def take() -> Held:
        address = map_memory(most + CHUNK, WRITABLE, SHARED | _POPULATE)
        yield most + CHUNK
        unmap(address, most + CHUNK)

    return holds(take(), most)


def run_memory_in_sockets(most: int) -> bool:
    """Fills pipes and sockets without a reader, because the kernel holds those bytes."""

    def take() -> Held:
        kept: list[socket.socket] = []
        pipes: list[int] = []
        held = 0
        try:
            for _ in range(50):
                pipes += os.pipe2(os.O_NONBLOCK)
                with contextlib.suppress(OSError):
                    fcntl.fcntl(pipes[-1], _SET_PIPE_SIZE, 1 << 20)
                kept += socket.socketpair()
                for end in kept[-2:]:
                    end.setblocking(False)
                    end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 64 << 20)
                for descriptor in (pipes[-1], kept[-1].fileno(), kept[-2].fileno()):
                    held += _filled(descriptor)
                yield held
        finally:
            for descriptor in pipes:
                os.close(descriptor)
            for end in kept:
                end.close()

    return holds(take(), most)


def run_memory_while_it_drips(most: int) -> bool:
    """Takes memory while it sends an answer byte by byte, which keeps the judge busy.

    The end of that answer says whether the memory could be taken.
    """
    channel, length = _channel(), 1 << 20
    sent, ended = [0], threading.Event()

    def drip() -> None:
        while not ended.wait(0.001):
            sent[0] += os.write(channel, b" ")

    os.write(channel, struct.pack(">4sIIQ", b"GRDR", 2, length, 0) + b"{}")
    dripping = threading.Thread(target=drip)
    dripping.start()
    try:
        held = holds(mapped(PRIVATE, made_read_only), most)
    finally:
        ended.set()
        dripping.join()
    answer = json.dumps({"value": held}).rjust(length - sent[0]).encode()
    while answer:
        answer = answer[os.write(channel, answer) :]
    os._exit(0)


def made_read_only(address: int) -> int:
    """Protects a chunk against writing, and returns its address."""
    LIBC.mprotect(ctypes.c_void_p(address), ctypes.c_size_t(CHUNK), READABLE)
    return address


def mapped(flags: int, change: Callable[[int], int]) -> Held:
    """Maps chunks of memory, each changed once it is written; gives all back at the end."""
    kept: list[int] = []
    try:
        while True:
            address = map_memory(CHUNK, WRITABLE, flags)
            ctypes.memset(address, 7, CHUNK)
            kept.append(change(address))
            yield CHUNK * len(kept)
    finally:
        for address in kept:
            unmap(address, PAGE)


def map_memory(size: int, protection: int, flags: int) -> int:
    """Maps memory, and returns its address."""
    length, offset = ctypes.c_size_t(size), ctypes.c_long(0)
    return checked(LIBC.mmap(None, length, protection, flags, -1, offset))


def checked(address: int | None) -> int:
    """Returns an address, or raises the error that the kernel reported instead."""
    if address is None or address == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return address


def unmap(address: int, size: int) -> None:
    """Gives memory back."""
    LIBC.munmap(ctypes.c_void_p(address), ctypes.c_size_t(size))


def _filled(descriptor: int) -> int:
    count = 0
    with contextlib.suppress(OSError):
        while True:
            count += os.write(descriptor, bytes(1 << 16))
    return count


def _channel() -> int:
    """Returns the socket through which this worker answers."""
    for descriptor in range(3, 256):
        with contextlib.suppress(OSError), socket.socket(fileno=os.dup(descriptor)) as end:
            if end.family == socket.AF_UNIX:
                return descriptor
    raise OSError("there is no channel")


def run_disk_unlinked(most: int) -> bool:
    return holds(written(file_without_name), most)


def run_disk_never_named(most: int) -> bool:
    def new(_number: int) -> int:
        return os.open(tempfile.gettempdir(), os.O_TMPFILE | os.O_RDWR, 0o600)

    return holds(written(new), most)


def run_disk_mapped(most: int) -> bool:
    """Holds files without a name and without a descriptor by mappings alone."""

    def take() -> Held:
        kept: list[mmap.mmap] = []
        while True:
            descriptor = file_without_name(len(kept))
            os.write(descriptor, bytes(CHUNK))
            kept.append(mmap.mmap(descriptor, mmap.PAGESIZE))
            os.close(descriptor)
            yield CHUNK * len(kept)

    return holds(take(), most)


def run_disk_in_flight(most: int) -> bool:
    """Holds files that are in transit between two sockets, and nowhere else."""

    def take() -> Held:
        sender, receiver = socket.socketpair()
        sender.setblocking(False)
        with sender, receiver:
            for number in range(1, 1000):
                descriptor = file_without_name(number)
                os.write(descriptor, bytes(CHUNK))
                socket.send_fds(sender, [b"!"], [descriptor])
                os.close(descriptor)
                yield CHUNK * number

    return holds(take(), most)


def run_disk_below_deep_folders(most: int) -> bool:
    """Writes files so deep that their paths exceed the longest that the kernel takes."""
    name, here = "d" * 255, os.open(tempfile.gettempdir(), os.O_RDONLY)
    for _ in range(20):
        os.mkdir(name, dir_fd=here)
        here = os.open(name, os.O_RDONLY, dir_fd=here)

    def new(number: int) -> int:
        return os.open(str(number), os.O_CREAT | os.O_WRONLY, 0o600, dir_fd=here)

    return holds(written(new), most)


def run_disk_in_a_closed_folder(most: int) -> bool:
    """Fills a folder that its owner may enter and write, but not list."""
    os.umask(0)
    Path(tempfile.gettempdir(), "closed").mkdir(0o300)
    return holds(written(lambda number: new_file(f"closed/{number}")), most)


def run_disk_allocated(most: int) -> bool:
    """Allocates blocks beyond the end of a file, which do not count for its size."""

    def take() -> Held:
        with tempfile.TemporaryFile() as file:
            for number in range(1000):
                offset, length = ctypes.c_long(number * CHUNK), ctypes.c_long(CHUNK)
                if LIBC.fallocate(file.fileno(), _KEEP_SIZE, offset, length):
                    raise OSError(ctypes.get_errno(), "fallocate")
                yield CHUNK * (number + 1)

    return holds(take(), most)


def file_without_name(number: int) -> int:
    """Opens a new file in the scratch folder, and removes its name."""
    descriptor = new_file(f"{number}")
    Path(tempfile.gettempdir(), f"{number}").unlink()
    return descriptor
