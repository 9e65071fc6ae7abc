"""The exception for input that a command refuses, with one sentence and exit code 2."""

from __future__ import annotations


class Refusal(Exception):
    """Something that people gave cannot be used; the text is one sentence that says why."""
