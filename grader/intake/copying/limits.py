"""How much of a submission is copied, and what taking it in may cost."""

from __future__ import annotations

import enum
import itertools
from collections.abc import Sequence
from dataclasses import dataclass

MIB = 1 << 20

# What browsers make of names where a platform says that a file is text is code as well.
PYTHON = (".py", ".py.txt")
NOTEBOOKS = (".ipynb", ".ipynb.json", ".ipynb.txt")
CODE = (*PYTHON, *NOTEBOOKS)
_SOURCE_SUFFIXES = (*PYTHON, ".pyi", ".toml", ".cfg")
_CLUTTER_FOLDERS = frozenset(
    {"__pycache__", "__MACOSX", "venv", "site-packages", "node_modules", "lightning_logs", "mlruns"}
)
_CLUTTER_FILES = frozenset({"Thumbs.db", "desktop.ini", ".DS_Store"})
_RUNS_OF_WANDB = ("run-", "offline-run-", "latest-run")


class FileKind(enum.Enum):
    """The purpose of a submission's file, as far as its name tells."""

    SOURCE = "source"
    NOTEBOOK = "notebook"
    DATA = "data"


@dataclass(frozen=True, slots=True)
class FileAllowance:
    """How many files of one kind are copied, and how many bytes of each and of all together."""

    files: int
    bytes_each: int
    bytes_total: int


@dataclass(frozen=True, slots=True)
class CopyLimits:
    """The limits on the copy of one submission.

    `entries` bounds how many files and folders are looked at, `depth` how many folders deep,
    `folders` in how many folders copied files lie (a file at the end of its own costs them all),
    `archive` the bytes of an archive as handed in, and `unpacked` the bytes that a tar may unpack
    to, whether they are wanted or not (of a zip nothing is unpacked that is not wanted).
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
        """Returns how much is copied of files of one kind."""
        return {
            FileKind.SOURCE: self.source,
            FileKind.NOTEBOOK: self.notebooks,
            FileKind.DATA: self.data,
        }[kind]


DEFAULT_LIMITS = CopyLimits()
_WHOLE = FileAllowance(DEFAULT_LIMITS.entries, DEFAULT_LIMITS.archive, DEFAULT_LIMITS.unpacked)
# For one person's part of a platform's download, before it is looked into: it may be an archive.
DOWNLOAD_LIMITS = CopyLimits(data=_WHOLE, entries=300_000)


def kind_of(file_name: str) -> FileKind:
    """Returns the kind of a file of this name."""
    name = file_name.lower()
    if name.endswith(_SOURCE_SUFFIXES):
        return FileKind.SOURCE
    return FileKind.NOTEBOOK if name.endswith(NOTEBOOKS) else FileKind.DATA


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


@dataclass(frozen=True, slots=True)
class Bounds:
    """Bytes of memory beyond what the process begins with, processor time, and time in all.

    Times are whole seconds. `file` is the bytes of the largest file that may be written: an archive
    that is a piece of a download.
    """

    memory: int = 768 * MIB
    processor_seconds: int = 20
    seconds: int = 120
    file: int = DEFAULT_LIMITS.archive + MIB


DEFAULT_BOUNDS = Bounds()
