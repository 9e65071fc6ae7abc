"""Opens what the processes above it have open."""

import os

from accomplice import ancestors, telling


def look():
    for pid in ancestors():
        try:
            numbers = os.listdir(f"/proc/{pid}/fd")
        except OSError:
            continue
        for number in numbers:
            try:
                descriptor = os.open(f"/proc/{pid}/fd/{number}", os.O_RDONLY | os.O_NONBLOCK)
            except OSError:
                continue
            yield f"descriptor {number} of process {pid}"
            os.close(descriptor)


run_double, run_count = telling(look)
