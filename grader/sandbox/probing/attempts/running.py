"""Tries to run more, and longer, than it may; and prints, which is free."""

from __future__ import annotations

import os
import threading
import time

import torch

from .holding import Held, holds


def run_thread() -> bool:
    ran = threading.Event()
    thread = threading.Thread(target=ran.set)
    thread.start()
    thread.join()
    return ran.is_set()


def run_threads(most: int) -> bool:
    """Stops at the first refusal."""
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
    """Printing is free, however much it is."""
    for _ in range(64):
        os.write(1, b"loss 0.1\n" * (1 << 16))
    return True
