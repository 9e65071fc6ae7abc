"""Asks of files that it may not read whether they are there, how large they are, and whose."""

import os

from accomplice import HINTS, telling

OWN = os.path.realpath(os.path.dirname(__file__))


def look():
    for name in ("hidden_test", "solutions", "sibling", "out", "submissions"):
        path = HINTS[name]
        try:
            yield f"the size of {name}: {os.stat(path).st_size}"
        except OSError:
            pass
        try:
            yield f"a handle of {name}: {os.fstat(os.open(path, os.O_PATH)).st_size}"
        except OSError:
            pass
        if os.access(path, os.F_OK):
            yield f"that {name} exists"
        try:
            yield f"the file system of {name}: {os.statvfs(path).f_files}"
        except OSError:
            pass
        try:
            os.chdir(os.path.dirname(path) if path.endswith(".py") else path)
            yield f"{os.getcwd()} as its folder"
        except OSError:
            pass
        finally:
            os.chdir(OWN)
    for path in (HINTS["home"], os.path.join(HINTS["home"], ".ssh", "id_canary")):
        try:
            yield f"when something last happened in {path}: {os.stat(path).st_mtime_ns}"
        except OSError:
            pass


run_double, run_count = telling(look)
