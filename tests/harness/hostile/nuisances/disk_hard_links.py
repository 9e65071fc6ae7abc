"""Gives a file thousands of names, and tries to give its own names to files of others."""

import os
import tempfile

from accomplice import FILES, HINTS, hoarding


def take():
    folder = tempfile.gettempdir()
    for number, other in enumerate((os.__file__, HINTS["sibling"], HINTS["solutions"], __file__)):
        try:
            os.link(other, os.path.join(folder, f"other-{number}"))
        except OSError:
            continue
        if other != __file__:
            yield 1 << 40
    first, names = os.path.join(folder, "first"), []
    open(first, "w").close()
    try:
        while True:
            names.append(os.path.join(folder, str(len(names))))
            os.link(first, names[-1])
            yield len(names)
    finally:
        for name in names:
            os.unlink(name)


run_double, run_count = hoarding(take, 2 * FILES + 500)
