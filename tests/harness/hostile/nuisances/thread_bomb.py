"""Starts five hundred threads that stay."""

import threading
import time


def run_double(x):
    for _ in range(500):
        threading.Thread(target=time.sleep, args=(20,), daemon=True).start()
    return None


def run_count(x):
    return x.numel()
