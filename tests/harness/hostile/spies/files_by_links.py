"""Reads what it may not through links that it makes itself."""

import os
import tempfile

from accomplice import HINTS, reading, telling


def look():
    for folder in (os.path.dirname(__file__), tempfile.gettempdir(), os.getcwd()):
        for make in (os.symlink, os.link):
            for name in ("solutions", "sibling", "home"):
                place = os.path.join(folder, f"{HINTS['marker']}-{make.__name__}-{name}")
                try:
                    make(HINTS[name], place)
                except OSError:
                    continue
                yield from reading(place)
                os.unlink(place)


run_double, run_count = telling(look)
