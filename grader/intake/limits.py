"""Limits on the copy of a submission, by the kinds of its files, and on the cost of intake."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

MIB = 1 << 20

# Browsers add these suffixes if a platform serves a file as text: it is code as well.
PYTHON = (".py", ".py.txt")
NOTEBOOKS = (".ipynb", ".ipynb.json", ".ipynb.txt")
CODE = (*PYTHON, *NOTEBOOKS)
_SOURCE_SUFFIXES = (*PYTHON, ".pyi", ".toml", ".cfg")
_CLUTTER_FOLDERS = frozenset(
    {"__pycache__", "__MACOSX", "venv", "site-packages", "node_modules", "lightning_logs", "mlruns"}
)
# macOS names the icon of a folder "Icon" and a carriage return.
_CLUTTER_FILES = frozenset({"Thumbs.db", "desktop.ini", ".DS_Store", "Icon\r"})
_RUNS_OF_WANDB = ("run-", "offline-run-", "latest-run")


# A kind of file by its purpose, as far as its name tells: a field of `CopyLimits`.
FileKind = Literal["source", "notebooks", "data"]


@dataclass(frozen=True, slots=True)
class FileAllowance:
    """The number of files of one kind to copy, and the bytes of each and of all together."""

    files: int
    bytes_each: int
    bytes_total: int


@dataclass(frozen=True, slots=True)
class CopyLimits:
    """The limits on the copy of one submission.

    `entries` bounds the files and folders that are looked at, `depth` how deep folders are nested.
    `folders` bounds the folders that hold copied files, including all folders above a file.
    `archive` bounds the bytes of an archive as handed in. `unpacked` bounds the bytes that a tar
    unpacks to, including files that are not copied; a zip unpacks only files that are.
    """

    source: FileAllowance = FileAllowance(2_000, 2 * MIB, 32 * MIB)
    notebooks: FileAllowance = FileAllowance(50, 32 * MIB, 64 * MIB)
    data: FileAllowance = FileAllowance(2_000, 8 * MIB, 64 * MIB)
    depth: int = 24
    folders: int = 2_000
    entries: int = 100_000
    archive: int = 512 * MIB
    unpacked: int = 512 * MIB

    def allowance(self, kind: FileKind) -> FileAllowance:
        """Returns the limits for files of one kind."""
        limits: FileAllowance = getattr(self, kind)
        return limits


DEFAULT_LIMITS = CopyLimits()
_WHOLE = FileAllowance(DEFAULT_LIMITS.entries, DEFAULT_LIMITS.archive, DEFAULT_LIMITS.unpacked)
# For one person's part of a download before its kind is known: it may be an archive.
DOWNLOAD_LIMITS = CopyLimits(data=_WHOLE, entries=300_000)


def kind_of(file_name: str) -> FileKind:
    """Returns the kind of a file of this name."""
    name = file_name.lower()
    if name.endswith(_SOURCE_SUFFIXES):
        return "source"
    return "notebooks" if name.endswith(NOTEBOOKS) else "data"


def is_clutter(parts: Sequence[str]) -> bool:
    """Returns whether a path lies in a folder that tools made, or is such a tool's file."""
    *folders, name = parts
    if name in _CLUTTER_FILES or name.startswith("._") or name.endswith((".pyc", ".pyo")):
        return True
    if any(is_clutter_folder(folder) for folder in folders):
        return True
    return any(
        folder == "wandb" and name.startswith(_RUNS_OF_WANDB)
        for folder, name in itertools.pairwise(parts)
    )


def is_clutter_folder(name: str) -> bool:
    """Returns whether tools make folders of this name: environments, caches, histories."""
    return name.startswith(".") or name in _CLUTTER_FOLDERS or name.endswith(".egg-info")


def is_clutter_item(name: str) -> bool:
    """Returns whether tools make files or folders of this name, wherever they lie."""
    return is_clutter_folder(name) or is_clutter((name,))


@dataclass(frozen=True, slots=True)
class Bounds:
    """The bounds of the intake process: growth of memory in bytes, processor time, wall time.

    Times are whole seconds. `file` is the bytes of the largest file that may be written, which is
    an archive from a download.
    """

    memory: int = 768 * MIB
    processor_seconds: int = 20
    seconds: int = 120
    file: int = DEFAULT_LIMITS.archive + MIB


DEFAULT_BOUNDS = Bounds()


def name_as_written(name: str) -> str:
    """Returns a file's name without a browser's additions, with the suffix in lower case."""
    for suffix in sorted(CODE, key=len, reverse=True):
        if name.lower().endswith(suffix) and len(name) > len(suffix):
            return f"{name[: -len(suffix)]}{'.py' if suffix in PYTHON else '.ipynb'}"
    return name


def size_in_words(size: int) -> str:
    """Returns a number of bytes as people say it."""
    if size < 1024:
        return f"{size} bytes"
    return f"{size / 1024:.0f} kB" if size < MIB else f"{size / MIB:,.1f} MB".replace(".0 ", " ")
