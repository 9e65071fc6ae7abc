"""Has other programs talk for it."""

import subprocess
import sys

from accomplice import HINTS, telling

TALK = f"import socket; socket.create_connection(('127.0.0.1', {HINTS['tcp']}), 1).send(b'knock')"


def look():
    for command in (
        [sys.executable, "-c", TALK],
        ["/bin/bash", "-c", f"echo knock > /dev/tcp/127.0.0.1/{HINTS['tcp']}"],
        ["/bin/cat", HINTS["solutions"]],
    ):
        try:
            done = subprocess.run(command, capture_output=True, timeout=2)
        except (OSError, subprocess.SubprocessError):
            continue
        yield done.stdout or f"{command[0]} ran"


run_double, run_count = telling(look)
