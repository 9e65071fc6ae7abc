"""Looks for places outside its own folder that it can write to."""

import os
import site
import sys

from accomplice import HINTS, telling


def look():
    places = [
        HINTS["home"], HINTS["tmp"], HINTS["out"], HINTS["assignment"], HINTS["submissions"],
        HINTS["engine"], *site.getsitepackages(), sys.prefix, "/", "/tmp", "/var/tmp", "/dev/shm",
        "/run", "/dev", "/etc", "/usr/lib", "/root", "/var/lock", "/dev/mqueue", "/sys/fs/cgroup",
    ]  # fmt: skip
    for place in places:
        path = os.path.join(place, f"{HINTS['marker']}-written")
        try:
            with open(path, "w") as file:
                file.write("written")
        except OSError:
            continue
        os.unlink(path)
        yield f"it wrote to {place}"


run_double, run_count = telling(look)
