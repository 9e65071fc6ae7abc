"""Writes a file so that whoever reads it finds all of the old or all of the new."""

from __future__ import annotations

from pathlib import Path

from grader.reports.export.remarks import ExportRefused


def write_whole(file: Path, content: str | bytes) -> None:
    """Writes `content`, text as UTF-8, beside `file`, then puts it in its place.

    Folders on the way are made.

    Raises:
        ExportRefused: if it cannot be written.
    """
    partial = file.with_name(f".{file.name}.partial")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        partial.write_bytes(content.encode() if isinstance(content, str) else content)
        partial.replace(file)
    except OSError as error:
        raise ExportRefused(
            f"{file} cannot be written ({error.strerror}): name a file in a folder of yours"
        ) from error
