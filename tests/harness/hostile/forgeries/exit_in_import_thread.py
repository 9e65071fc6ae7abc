"""A thread that outlives the import leaves once the adapters are known."""

import os
import threading
import time


def leave():
    time.sleep(0.3)
    os._exit(0)


threading.Thread(target=leave, daemon=True).start()


def run_double(x):
    time.sleep(1)


run_count = run_double
