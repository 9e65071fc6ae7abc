"""Classes of copies, no two of them alike."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path


def copies_of(sources: Sequence[Path], folder: Path, count: int) -> Path:
    """A new folder with so many submissions, copied from `sources` in turn."""
    folder.mkdir()
    for number in range(count):
        copy_of(sources[number % len(sources)], folder, number)
    return folder


def copy_of(source: Path, folder: Path, number: int) -> None:
    """A copy of a submission that no cache takes for another."""
    if source.is_dir():
        target = Path(shutil.copytree(source, folder / f"{number:05}"))
        adapters = next(target.rglob("adapters.py"))
    else:
        adapters = Path(shutil.copyfile(source, folder / f"{number:05}.py"))
    with adapters.open("a") as file:
        file.write(f"\n# copy {number}\n")
