"""A thread ends the process with success in the middle of a call."""

import os
import threading
import time


def leave():
    time.sleep(0.05)
    os._exit(0)


def run_double(x):
    threading.Thread(target=leave).start()
    time.sleep(5)


run_count = run_double
