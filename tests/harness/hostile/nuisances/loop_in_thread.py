"""Leaves threads that never end behind every call."""

import threading


def spin():
    while True:
        pass


def run_double(x):
    for _ in range(4):
        threading.Thread(target=spin).start()
    return None


def run_count(x):
    return x.numel()
