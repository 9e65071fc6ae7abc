"""Looks for secrets in its environment and in that of every process that it can see."""

import glob
import os
import sys

from accomplice import CANARY, reading, telling


def look():
    text = repr(dict(os.environ)).encode() + repr((sys.argv, sys.orig_argv)).encode()
    if CANARY.search(text):
        yield text
    for path in glob.glob("/proc/[0-9]*/environ"):
        if path != f"/proc/{os.getpid()}/environ":
            yield from reading(path)
    here = b"".join(reading("/proc/self/environ"))
    if CANARY.search(here):
        yield here


run_double, run_count = telling(look)
