"""Attempts to take more memory, disk, threads and time than allowed: more than `most`.

An attempt returns True if it was not stopped. It gives everything back at once, or with the
worker's folder. Printing is free.
"""

from __future__ import annotations

import ctypes
import mmap
import os
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


LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mmap.restype = ctypes.c_void_p
PAGE, CHUNK = mmap.PAGESIZE, 16 << 20
SHARED, PRIVATE = mmap.MAP_SHARED | mmap.MAP_ANONYMOUS, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
READABLE, WRITABLE = mmap.PROT_READ, mmap.PROT_READ | mmap.PROT_WRITE
_NO_RESERVE = 0x4000
_DONTNEED, _NO_HUGE_PAGES = 4, 15


def run_memory(most: int) -> bool:
    return torch.ones(most >> 2).numel() > 0


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


def run_disk(most: int) -> bool:
    return holds(written(lambda number: new_file(f"{number}")), most)


def run_disk_unlinked(most: int) -> bool:
    return holds(written(file_without_name), most)


def run_files(most: int) -> bool:
    def take() -> Held:
        for number in range(most + 2):
            os.close(new_file(f"{number:0200}"))
            yield number

    return holds(take(), most)


def written(new: Callable[[int], int]) -> Held:
    """Writes files of one chunk each, whose descriptors are kept open."""
    kept: list[int] = []
    while True:
        kept.append(new(len(kept)))
        os.write(kept[-1], bytes(CHUNK))
        yield CHUNK * len(kept)


def new_file(name: str) -> int:
    """Opens a new file in the scratch folder."""
    return os.open(Path(tempfile.gettempdir(), name), os.O_CREAT | os.O_RDWR, 0o600)


def file_without_name(number: int) -> int:
    """Opens a new file in the scratch folder, and removes its name."""
    descriptor = new_file(f"{number}")
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
