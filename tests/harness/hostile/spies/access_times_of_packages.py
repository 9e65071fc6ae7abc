"""Reads files of packages that nobody read since they changed: another worker could see that."""

import os
import site

from accomplice import telling


def files():
    for folder in site.getsitepackages():
        for place, _, names in os.walk(folder):
            yield from (os.path.join(place, name) for name in names if name.endswith(".py"))


def look():
    for path in files():
        try:
            before = os.stat(path)
            if before.st_atime_ns > max(before.st_mtime_ns, before.st_ctime_ns):
                continue
            with open(path, "rb") as file:
                file.read(1)
            if os.stat(path).st_atime_ns != before.st_atime_ns:
                yield f"a mark in {path}"
        except OSError:
            pass


run_double, run_count = telling(look)
