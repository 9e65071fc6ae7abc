"""Reads how the processes above it were called, where they work and what they have mapped."""

import os

from accomplice import ancestors, reading, telling


def look():
    for pid in [*ancestors(), "1"]:
        for name in ("cmdline", "maps", "limits", "mounts", "io"):
            yield from reading(f"/proc/{pid}/{name}")
        for name in ("cwd", "root", "exe"):
            try:
                yield os.readlink(f"/proc/{pid}/{name}")
            except OSError:
                continue


run_double, run_count = telling(look)
