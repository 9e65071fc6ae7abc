"""The command line, and the same verbs for Python."""

import contextlib
import sys
from pathlib import Path


def main() -> None:
    """Runs the command line, without modules from the current folder: it may be a student's."""
    with contextlib.suppress(FileNotFoundError):  # a folder that is removed holds no module
        here = ("", str(Path.cwd()))
        sys.path[:] = [path for path in sys.path if path not in here]

    from grader.cli.command_line import run

    run()
