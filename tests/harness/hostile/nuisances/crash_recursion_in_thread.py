"""Uses up the smallest stack that a thread can have."""

import sys
import threading

threading.stack_size(32768)
sys.setrecursionlimit(10**9)


class Deep:
    def __getattr__(self, name):
        return repr(getattr(self, name))


def run_double(x):
    thread = threading.Thread(target=lambda: Deep().anything)
    thread.start()
    thread.join()


def run_count(x):
    return x.numel()
