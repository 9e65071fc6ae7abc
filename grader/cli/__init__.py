"""The commands."""

from grader.cli.main import main

__all__ = ["main"]
