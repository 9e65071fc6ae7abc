"""A folder of pages that is written as a whole or not at all, in place of an earlier one."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

from grader.refusal import Refusal

INDEX = "index.html"
HEAD = 4096
_OURS = b'<meta name="generator" content="grader">'


class NotWritten(Refusal):
    """The pages cannot be written; the text is one sentence that says why, and what to do."""


@contextlib.contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """An empty folder, which takes the place of `folder` and of the pages in it at the end.

    Raises:
        NotWritten: if something else than pages lies there, or the disk refuses.
    """
    partial = folder.with_name(f".{folder.name}.partial")
    try:
        _refuse_foreign(folder)
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        yield partial
        if folder.exists():
            shutil.rmtree(folder)
        partial.rename(folder)
    except OSError as error:
        raise NotWritten(f"the report cannot be written to {folder}: {error.strerror}") from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _refuse_foreign(folder: Path) -> None:
    """Refuses a folder that holds anything which no report can have left there."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    index = folder / INDEX
    if folder.is_dir() and index.is_file():
        with index.open("rb") as page:
            if _OURS in page.read(HEAD):
                return
    raise NotWritten(
        f"{folder} holds something that is no report, and would be replaced: "
        "name another folder with --out, or move that away"
    )
