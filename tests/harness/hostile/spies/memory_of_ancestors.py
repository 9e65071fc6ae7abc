"""Reads the memory of the fork server and of the judge, where expected values are."""

import os

from accomplice import CANARY, ancestors, telling


def look():
    for pid in ancestors():
        try:
            maps = open(f"/proc/{pid}/maps").read().splitlines()
            memory = os.open(f"/proc/{pid}/mem", os.O_RDONLY)
        except OSError:
            continue
        yield f"the memory of process {pid} is open"
        for line in maps:
            span, rights, *_ = line.split()
            start, end = (int(number, 16) for number in span.split("-"))
            if rights.startswith("rw") and end - start < 64 << 20:
                try:
                    yield from CANARY.findall(os.pread(memory, end - start, start))
                except (OSError, OverflowError):
                    continue
        os.close(memory)


run_double, run_count = telling(look)
