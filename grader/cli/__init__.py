"""The command line, and the same verbs for Python."""

from grader.cli.main import main

__all__ = ["main"]
