"""Hashes of all that a grade depends on, so that no submission is graded twice without need."""

from __future__ import annotations

import hashlib
import json
import platform
import tomllib
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import grader
from grader.core.assignment import Assignment, Settings

# The parts of an assignment that its grades depend on.
_SUITE = (
    "adapters.py",
    "pyproject.toml",
    "tests/*.py",
    "tests/public",
    "tests/hidden",
    "solutions",
    "assignment",
)
# Verdicts do not depend on points or days, nor grades on modules that are loaded ahead.
_NOT_SHARED = ("exercises", "preload", "late")
_HALF = 32  # hexadecimal digits


def suite_hash(assignment: Assignment, exercises: Collection[str] = ()) -> str:
    """Returns a hash of all that grades depend on except the submission and the options.

    The first half covers the parts that explanations depend on as well. These are the contract, the
    references, the tests, and the grader itself. The second half covers the points, of all
    exercises or of those that are given.
    """
    from importlib.metadata import version  # only a batch needs it, which takes longer

    root, engine = assignment.root, Path(grader.__file__).parent
    files = suite_files(root)
    folders = (assignment.public_tests, assignment.hidden_tests)
    modules = [
        file
        for file in files
        if file.suffix == ".py" and any(file.is_relative_to(folder) for folder in folders)
    ]
    # No judge's verdict depends on the fixture files for students.
    frozen = {file.parent / "fixtures" / f"{file.stem}.safetensors" for file in modules}
    frozen.add(assignment.public_tests / "fixtures" / "slips.json")
    shared = hashlib.sha256()
    for file in files:
        if file not in frozen and file != root / "pyproject.toml":
            _add(shared, root, file)
    for file in source_files(engine):
        _add(shared, engine, file)
    shared.update(json.dumps(_settings(root), sort_keys=True, default=str).encode())
    shared.update(f"{version('torch')} {platform.python_version()}".encode())
    points = [item for item in assignment.points.items() if not exercises or item[0] in exercises]
    worth = hashlib.sha256(json.dumps(points).encode())
    return shared.hexdigest()[:_HALF] + worth.hexdigest()[:_HALF]


def is_explained_alike(one: str, other: str) -> bool:
    """Returns whether explanations under two suites' hashes are the same for the same verdicts."""
    return one[:_HALF] == other[:_HALF]


def grade_key(settings: Settings, submission_hash: str) -> str:
    """Returns a hash of all that a submission's grade depends on.

    The folder of the assignment is left out, because its location changes no grade.
    """
    limits = [settings.timeout, settings.memory_mb]
    options = [settings.seed, settings.adapters, *limits, settings.device]
    text = json.dumps([submission_hash, settings.suite_hash, options])
    return hashlib.sha256(text.encode()).hexdigest()


def _settings(root: Path) -> dict[str, Any]:
    """Returns the assignment's `pyproject.toml` without keys that no verdict depends on."""
    content = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    table = content["tool"]["grader"]
    for name in _NOT_SHARED:
        table.pop(name, None)
    return content


def _add(digest: Any, root: Path, file: Path) -> None:
    content = file.read_bytes()
    digest.update(f"{file.relative_to(root).as_posix()}\0{len(content)}\0".encode())
    digest.update(content)


def suite_files(root: Path) -> Sequence[Path]:
    """Returns the files of an assignment that its grades depend on, in a stable order."""
    return [file for part in _SUITE for path in sorted(root.glob(part)) for file in _files(path)]


def source_files(path: Path) -> Sequence[Path]:
    """Returns the files of a folder except hidden and compiled ones, in a stable order.

    Files of linked folders are among them: pytest collects their tests as well.
    """
    return sorted(_files_below(path))


def _files_below(folder: Path, above: tuple[Path, ...] = ()) -> Iterator[Path]:
    real = folder.resolve()
    for path in folder.glob("*") if real not in above else ():
        if not path.name.startswith(".") and path.name != "__pycache__":
            if path.is_dir():
                yield from _files_below(path, (*above, real))
            elif path.is_file():
                yield path


def _files(path: Path) -> Sequence[Path]:
    return [path] if path.is_file() else source_files(path)
