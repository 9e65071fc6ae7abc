"""Has Python's own watchdog write its traceback everywhere, then end the process."""

import faulthandler
import time

from accomplice import own_channel


def run_double(x):
    faulthandler.dump_traceback_later(0.05, exit=True, file=own_channel())
    while True:
        time.sleep(0.01)


def run_count(x):
    return x.numel()
