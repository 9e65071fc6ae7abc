"""The files by which the kernel tells of control groups and is told."""

from __future__ import annotations

import os
from pathlib import Path


def write(file: Path, value: int | str) -> None:
    """Writes to a file that is there; none is made where the kernel has none.

    Raises:
        OSError: if there is no such file, or the kernel refuses.
    """
    descriptor = os.open(file, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, str(value).encode())
    finally:
        os.close(descriptor)


def words(file: Path) -> list[str]:
    """What a file lists; nothing if it cannot be read."""
    try:
        return file.read_text().split()
    except OSError:
        return []


def number(file: Path) -> int | None:
    """The number in a file of a single one."""
    said = words(file)
    return int(said[0]) if said and said[0].isdigit() else None


def entry(file: Path, key: str) -> int:
    """The number that stands behind a key; 0 if the kernel does not count it."""
    said = words(file)
    numbers = dict(zip(said[::2], said[1::2], strict=False))
    return int(numbers.get(key, 0))
