"""Keeps every processor busy with as many threads as it likes, for as long as it may."""

import hashlib
import threading

DATA = bytes(1 << 20)


def compute():
    while True:
        hashlib.sha256(DATA)


def run_double(x):
    threading.stack_size(64 << 10)
    threads = [threading.Thread(target=compute, daemon=True) for _ in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def run_count(x):
    return x.numel()
