"""Raises what a user's Ctrl-C does, when imported by a thread and when called."""

import _thread


def run_double(x):
    _thread.interrupt_main()
    raise KeyboardInterrupt


def run_count(x):
    return x.numel()
