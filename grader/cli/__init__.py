"""The command line, and the same verbs for Python."""

from __future__ import annotations

import contextlib
import sys

__all__ = ["main"]


def main() -> None:
    """Runs the command line; the job of `grader run` loads torch while the command is read."""
    with contextlib.ExitStack() as stack:
        early = None
        if sys.argv[1:2] == ["run"] and not {"-h", "--help"} & {*sys.argv}:
            from grader.grading.job.lines import COMMAND, StartedEarly

            early = stack.enter_context(StartedEarly(COMMAND))
        from grader.cli.command_line import read_command

        read_command(early)
