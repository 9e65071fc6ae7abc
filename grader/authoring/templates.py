"""Templates: files of the grader's own, with a name between two @ for each value to fill in."""

from __future__ import annotations

import re
from pathlib import Path


def filled(file: Path, **values: str) -> str:
    """Returns the text of a template, with `values["name"]` in place of `@NAME@`."""
    text = file.read_text(encoding="utf-8")
    return re.sub("@([A-Z_]+)@", lambda name: values[name[1].lower()], text)
