"""A folder of pages that is written as a whole or not at all, in place of an earlier one."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

from grader.core.refusal import Refusal
from grader.core.scratch import new_scratch

INDEX = "index.html"
HEAD = 4096
_OURS = b'<meta name="generator" content="grader">'


class NotWritten(Refusal):
    """The pages cannot be written; the text is one sentence that says why, and what to do."""


@contextlib.contextmanager
def whole_folder(
    folder: Path, marked: str = INDEX, mark: bytes = _OURS, what: str = "report"
) -> Iterator[Path]:
    """An empty folder, which takes the place of `folder` and of what is in it at the end.

    What may be replaced has a file, `marked`, with `mark` at its beginning: by default pages.

    Raises:
        NotWritten: if something else lies there, or the disk refuses.
    """
    try:
        _refuse_foreign(folder, folder / marked, mark, what)
        if not folder.parent.exists():
            folder.parent.mkdir(parents=True)
        with new_scratch(folder.parent) as scratch:
            partial = scratch / folder.name
            partial.mkdir()
            yield partial
            if folder.exists():
                shutil.rmtree(folder)
            partial.rename(folder)
    except OSError as error:
        raise NotWritten(f"the {what} cannot be written to {folder}: {error.strerror}") from error


def _refuse_foreign(folder: Path, marked: Path, mark: bytes, what: str) -> None:
    """Refuses a folder that holds anything which was not left there by who writes now."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    if folder.is_dir() and marked.is_file():
        with marked.open("rb") as file:
            if mark in file.read(HEAD):
                return
    raise NotWritten(
        f"{folder} holds something that is no {what}, and would be replaced: "
        "name another folder with --out, or move that away"
    )
