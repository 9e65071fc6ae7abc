"""Attempts to take more memory, disk, threads and time than allowed: more than `most`.

An attempt returns True if it was not stopped. It gives everything back at once, or with the
worker's folder. Printing is free.
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
from collections.abc import Callable, Generator
from pathlib import Path

import numpy
import torch
from numpy.lib.stride_tricks import as_strided

_SECONDS_HELD = 0.4

# Takes something step by step; yields the amount held after each step.
Held = Generator[int, None, None]


def holds(taking: Held, most: int) -> bool:
    """Returns whether more than `most` could be taken, and was held for some time."""
    try:
        for held in taking:
            if held > most:
                time.sleep(_SECONDS_HELD)
                return True
    finally:
        taking.close()
    return False


_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.mmap.restype = _LIBC.mremap.restype = ctypes.c_void_p
_PAGE, _CHUNK = mmap.PAGESIZE, 16 << 20
_SHARED, _PRIVATE = mmap.MAP_SHARED | mmap.MAP_ANONYMOUS, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
_READABLE, _WRITABLE = mmap.PROT_READ, mmap.PROT_READ | mmap.PROT_WRITE
_NO_RESERVE, _POPULATE = 0x4000, 0x8000
_DONTNEED, _NO_HUGE_PAGES = 4, 15
_SET_PIPE_SIZE = 1031


def run_memory(most: int) -> bool:
    return torch.ones(most >> 2).numel() > 0


def run_memory_forgotten(most: int) -> bool:
    """Drops shared pages from the process's page tables, while the kernel keeps them."""

    def forget(address: int) -> int:
        _LIBC.madvise(ctypes.c_void_p(address), ctypes.c_size_t(_CHUNK), _DONTNEED)
        return address

    return holds(_mapped(_SHARED, forget), most)


def run_memory_by_a_page(most: int) -> bool:
    """Keeps whole shared mappings in memory by one page each that stays mapped."""

    def cut(address: int) -> int:
        _unmap(address + _PAGE, _CHUNK - _PAGE)
        return address

    return holds(_mapped(_SHARED, cut), most)


def run_memory_mapped_twice(most: int) -> bool:
    def move(address: int) -> int:
        nothing, page = ctypes.c_size_t(0), ctypes.c_size_t(_PAGE)
        moved = _LIBC.mremap(ctypes.c_void_p(address), nothing, page, 1)
        _unmap(address, _CHUNK)
        return _checked(moved)

    return holds(_mapped(_SHARED, move), most)


def run_memory_read_only(most: int) -> bool:
    """Maps memory and makes it read-only, because the limit on data does not count such memory."""
    return holds(_mapped(_PRIVATE, _made_read_only), most)


def run_memory_at_once(most: int) -> bool:
    def take() -> Held:
        address = _map(most + _CHUNK, _WRITABLE, _SHARED | _POPULATE)
        yield most + _CHUNK
        _unmap(address, most + _CHUNK)

    return holds(take(), most)


def run_memory_of_page_tables(most: int) -> bool:
    """Takes a page of page table for every two megabytes of addresses that it touches."""
    span, step = 16 << 30, 2 << 20

    def take() -> Held:
        kept: list[int] = []
        try:
            while True:
                kept.append(_map(span, _READABLE, _PRIVATE | _NO_RESERVE))
                _LIBC.madvise(ctypes.c_void_p(kept[-1]), ctypes.c_size_t(span), _NO_HUGE_PAGES)
                first = numpy.ctypeslib.as_array((ctypes.c_uint8 * 1).from_address(kept[-1]))
                as_strided(first, (span // step,), (step,)).sum()
                yield len(kept) * span // step * _PAGE
        finally:
            for address in kept:
                _unmap(address, span)

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

    os.write(channel, struct.pack(">4sIQ", b"GRDR", length, 0))
    dripping = threading.Thread(target=drip)
    dripping.start()
    try:
        held = holds(_mapped(_PRIVATE, _made_read_only), most)
    finally:
        ended.set()
        dripping.join()
    answer = json.dumps([{"raised": None}, {"value": held}]).rjust(length - sent[0]).encode()
    while answer:
        answer = answer[os.write(channel, answer) :]
    os._exit(0)


def _made_read_only(address: int) -> int:
    _LIBC.mprotect(ctypes.c_void_p(address), ctypes.c_size_t(_CHUNK), _READABLE)
    return address


def _mapped(flags: int, change: Callable[[int], int]) -> Held:
    kept: list[int] = []
    try:
        while True:
            address = _map(_CHUNK, _WRITABLE, flags)
            ctypes.memset(address, 7, _CHUNK)
            kept.append(change(address))
            yield _CHUNK * len(kept)
    finally:
        for address in kept:
            _unmap(address, _PAGE)


def _map(size: int, protection: int, flags: int) -> int:
    length, offset = ctypes.c_size_t(size), ctypes.c_long(0)
    return _checked(_LIBC.mmap(None, length, protection, flags, -1, offset))


def _checked(address: int | None) -> int:
    if address is None or address == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return address


def _unmap(address: int, size: int) -> None:
    _LIBC.munmap(ctypes.c_void_p(address), ctypes.c_size_t(size))


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


_KEEP_SIZE = 1


def run_disk(most: int) -> bool:
    return holds(_written(lambda number: _new(f"{number}")), most)


def run_disk_unlinked(most: int) -> bool:
    return holds(_written(_without_name), most)


def run_disk_never_named(most: int) -> bool:
    def new(_number: int) -> int:
        return os.open(tempfile.gettempdir(), os.O_TMPFILE | os.O_RDWR, 0o600)

    return holds(_written(new), most)


def run_disk_mapped(most: int) -> bool:
    """Holds files without a name and without a descriptor by mappings alone."""

    def take() -> Held:
        kept: list[mmap.mmap] = []
        while True:
            descriptor = _without_name(len(kept))
            os.write(descriptor, bytes(_CHUNK))
            kept.append(mmap.mmap(descriptor, mmap.PAGESIZE))
            os.close(descriptor)
            yield _CHUNK * len(kept)

    return holds(take(), most)


def run_disk_in_flight(most: int) -> bool:
    """Holds files that are in transit between two sockets, and nowhere else."""

    def take() -> Held:
        sender, receiver = socket.socketpair()
        sender.setblocking(False)
        with sender, receiver:
            for number in range(1, 1000):
                descriptor = _without_name(number)
                os.write(descriptor, bytes(_CHUNK))
                socket.send_fds(sender, [b"!"], [descriptor])
                os.close(descriptor)
                yield _CHUNK * number

    return holds(take(), most)


def run_disk_below_deep_folders(most: int) -> bool:
    """Writes files so deep that their paths exceed the longest that the kernel takes."""
    name, here = "d" * 255, os.open(tempfile.gettempdir(), os.O_RDONLY)
    for _ in range(20):
        os.mkdir(name, dir_fd=here)
        here = os.open(name, os.O_RDONLY, dir_fd=here)

    def new(number: int) -> int:
        return os.open(str(number), os.O_CREAT | os.O_WRONLY, 0o600, dir_fd=here)

    return holds(_written(new), most)


def run_disk_in_a_closed_folder(most: int) -> bool:
    """Fills a folder that its owner may enter and write, but not list."""
    os.umask(0)
    Path(tempfile.gettempdir(), "closed").mkdir(0o300)
    return holds(_written(lambda number: _new(f"closed/{number}")), most)


def run_disk_allocated(most: int) -> bool:
    """Allocates blocks beyond the end of a file, which do not count for its size."""

    def take() -> Held:
        with tempfile.TemporaryFile() as file:
            for number in range(1000):
                offset, length = ctypes.c_long(number * _CHUNK), ctypes.c_long(_CHUNK)
                if _LIBC.fallocate(file.fileno(), _KEEP_SIZE, offset, length):
                    raise OSError(ctypes.get_errno(), "fallocate")
                yield _CHUNK * (number + 1)

    return holds(take(), most)


def run_files(most: int) -> bool:
    def take() -> Held:
        for number in range(most + 2):
            os.close(_new(f"{number:0200}"))
            yield number

    return holds(take(), most)


def _written(new: Callable[[int], int]) -> Held:
    """Writes files of one chunk each, whose descriptors are kept open."""
    kept: list[int] = []
    while True:
        kept.append(new(len(kept)))
        os.write(kept[-1], bytes(_CHUNK))
        yield _CHUNK * len(kept)


def _new(name: str) -> int:
    return os.open(Path(tempfile.gettempdir(), name), os.O_CREAT | os.O_RDWR, 0o600)


def _without_name(number: int) -> int:
    descriptor = _new(f"{number}")
    Path(tempfile.gettempdir(), f"{number}").unlink()
    return descriptor


def run_thread() -> bool:
    ran = threading.Event()
    thread = threading.Thread(target=ran.set)
    thread.start()
    thread.join()
    return ran.is_set()


def run_threads(most: int) -> bool:
    """Starts threads until one is refused."""
    leave = threading.Event()
    threading.stack_size(64 << 10)

    def take() -> Held:
        try:
            for number in range(most + 2):
                threading.Thread(target=leave.wait, args=(5,), daemon=True).start()
                yield number
        finally:
            leave.set()

    return holds(take(), most)


def run_processor(most: int) -> bool:
    """Uses `most` seconds of processor time in four threads at once."""
    end = time.process_time() + most

    def spin() -> None:
        while time.process_time() < end:
            torch.ones(1 << 14).sum()

    threads = [threading.Thread(target=spin) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return True


def run_for_ever() -> bool:
    time.sleep(1000)
    return True


def run_print_much() -> bool:
    """Prints 36 megabytes: printing is free."""
    for _ in range(64):
        os.write(1, b"loss 0.1\n" * (1 << 16))
    return True
