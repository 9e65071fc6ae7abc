"""Leaves a grandchild that goes on answering when the worker is gone."""

import os
import time

from accomplice import answer, send


def run_double(x):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for _ in range(100):
                send(answer({"value": 0}), range(3, 64))
                time.sleep(0.1)
        os._exit(0)
    os._exit(0)


run_count = run_double
