"""A submission that takes too much memory, disk, threads or time; `most` is an amount too large.

An attempt returns True if it was not stopped. Files go with the worker's folder, everything else
at once. One thread and much printing are allowed, and must succeed.
"""

from __future__ import annotations

import os
import tempfile
import threading
import time
from collections.abc import Callable, Generator
from pathlib import Path

import torch

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


CHUNK = 16 << 20


def run_memory(most: int) -> bool:
    return torch.ones(most >> 2).numel() > 0


def run_disk(most: int) -> bool:
    return holds(written(lambda number: new_file(f"{number}")), most)


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


def run_print_much() -> bool:
    """Prints 36 megabytes, which no limit forbids."""
    for _ in range(64):
        os.write(1, b"loss 0.1\n" * (1 << 16))
    return True
