"""Asks of files that it may not read whether they are there, how large they are, and whose."""

import os
import tempfile

from accomplice import HINTS, telling

OWN = os.path.realpath(os.path.dirname(__file__))


def is_on_the_way(path):
    """Whether a folder is but a step to its own, in a file tree that holds nothing else."""
    own_tree = not os.path.lexists(HINTS["submissions"])
    return own_tree and OWN.startswith(os.path.realpath(path) + os.sep)


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
            os.chdir(path if os.path.isdir(path) else os.path.dirname(path))
            if not is_on_the_way("."):
                yield f"{os.getcwd()} as its folder"
        except OSError:
            pass
        finally:
            os.chdir(OWN)
    folder = os.path.dirname(os.path.realpath(tempfile.gettempdir()))
    for path in (HINTS["tmp"], HINTS["home"], os.path.dirname(folder)):
        try:
            if not is_on_the_way(path):
                yield f"when something last happened in {path}: {os.stat(path).st_mtime_ns}"
        except OSError:
            pass


run_double, run_count = telling(look)
