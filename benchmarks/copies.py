"""Classes of copies that all differ."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path


def copies_of(sources: Sequence[Path], folder: Path, count: int) -> Path:
    """Makes a new folder with this number of submissions, copied from `sources` in turn."""
    folder.mkdir()
    for number in range(count):
        copy_of(sources[number % len(sources)], folder, number)
    return folder


def copy_of(source: Path, folder: Path, number: int) -> None:
    """Copies a submission so that no cache takes it for another one."""
    if source.is_dir():
        target = Path(shutil.copytree(source, folder / f"{number:05}"))
        adapters = next(target.rglob("adapters.py"))
    else:
        adapters = Path(shutil.copyfile(source, folder / f"{number:05}.py"))
    with adapters.open("a") as file:
        file.write(f"\n# copy {number}\n")
