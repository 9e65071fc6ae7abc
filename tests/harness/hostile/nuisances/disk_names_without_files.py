"""Makes many empty files, whose long names take the room."""

import os
import tempfile

from accomplice import FILES, hoarding


def take():
    folder, count = tempfile.gettempdir(), 0
    while True:
        os.mknod(os.path.join(folder, f"{count:0255}"), 0o600)
        count += 1
        yield count


run_double, run_count = hoarding(take, 2 * FILES + 500)
