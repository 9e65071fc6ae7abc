"""Tries to hold more memory than it may: `most` are the bytes that are too much of anybody.

What is taken is given back at once.
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
import threading
from collections.abc import Callable

import numpy
import torch
from numpy.lib.stride_tricks import as_strided

from .holding import Held, holds

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
    """Shared memory stays when its pages are taken out of the process's sight."""

    def forget(address: int) -> int:
        _LIBC.madvise(ctypes.c_void_p(address), ctypes.c_size_t(_CHUNK), _DONTNEED)
        return address

    return holds(_mapped(_SHARED, forget), most)


def run_memory_by_a_page(most: int) -> bool:
    """Returns whether one page that is still mapped keeps all of a shared mapping."""

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
    """Fills pipes and sockets that nobody reads, because the kernel holds those bytes."""

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
    """Sends an answer a byte at a time, which keeps busy whoever waits for it.

    That it was not stopped is the end of that answer.
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
