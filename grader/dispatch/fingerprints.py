"""Hashes of what a grade depends on, so that nothing is graded twice without need."""

from __future__ import annotations

import hashlib
import json
import platform
import tomllib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import grader
from grader.assignment import Assignment
from grader.dispatch.test_files import exercises_of
from grader.settings import Settings

# The parts of an assignment that its grades depend on.
SUITE = (
    "adapters.py",
    "pyproject.toml",
    "tests/conftest.py",
    "tests/public",
    "tests/hidden",
    "solutions",
    "assignment",
)
# Points are of one exercise each; what is loaded ahead changes no grade.
_NOT_SHARED = ("exercises", "preload", "late")


def exercise_hashes(assignment: Assignment) -> dict[str, str]:
    """By exercise, a hash of all that its verdicts depend on beside the submission and the options.

    These are its points, the files that hold its tests alone, and what all exercises share: the
    contract, the references, whatever else lies beside the tests, the grader itself.
    """
    root, engine = assignment.root, Path(grader.__file__).parent
    files = [file for part in SUITE for file in source_files(root / part)]
    own = _files_of_one(assignment, files)
    shared = hashlib.sha256()
    for file in files:
        if file not in own and file != root / "pyproject.toml":
            _add(shared, root, file)
    for file in source_files(engine):
        _add(shared, engine, file)
    shared.update(json.dumps(_settings(root), sort_keys=True, default=str).encode())
    shared.update(f"{_version('torch')} {platform.python_version()}".encode())
    hashes = {}
    for exercise, points in assignment.points.items():
        digest = shared.copy()
        digest.update(f"{exercise}\0{points!r}\0".encode())
        for file, exercises in own.items():
            if exercise in exercises:
                _add(digest, root, file)
        hashes[exercise] = digest.hexdigest()
    return hashes


def suite_hash(hashes: Mapping[str, str]) -> str:
    """What all grades of a batch depend on in common, from the hashes of its exercises."""
    return hashlib.sha256(json.dumps([*hashes.items()]).encode()).hexdigest()


def grade_key(settings: Settings, submission_hash: str) -> str:
    """What the grade of a submission depends on, in one hash."""
    return _key(settings, submission_hash, settings.suite_hash)


def exercise_keys(settings: Settings, submission_hash: str) -> dict[str, str]:
    """By exercise, what the verdicts on a submission depend on, in one hash."""
    return {
        exercise: _key(settings, submission_hash, suite)
        for exercise, suite in settings.exercise_hashes.items()
    }


def _key(settings: Settings, submission_hash: str, suite: str) -> str:
    """Where the assignment's folder lies changes no grade."""
    limits = [settings.timeout, settings.memory_mb]
    options = [settings.seed, settings.adapters, *limits, settings.device]
    text = json.dumps([submission_hash, suite, options])
    return hashlib.sha256(text.encode()).hexdigest()


def _files_of_one(assignment: Assignment, files: Sequence[Path]) -> dict[Path, Collection[str]]:
    """The files that matter to some exercises only: modules of tests, and their fixture tensors."""
    folders = (assignment.public_tests, assignment.hidden_tests)
    tests = [file for file in files if any(file.is_relative_to(it) for it in folders)]
    others = [file for file in files if file not in tests]
    found = exercises_of(tests, others)
    known: dict[Path, Collection[str]] = {
        file: exercises for file, exercises in found.items() if exercises <= {*assignment.points}
    }
    for module in [*known]:
        frozen = module.parent / "fixtures" / f"{module.stem}.safetensors"
        if frozen in tests:
            known[frozen] = known[module]
    return known


def _settings(root: Path) -> dict[str, Any]:
    """The assignment's `pyproject.toml` without what is not shared by all exercises."""
    content = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    table = content["tool"]["grader"]
    for name in _NOT_SHARED:
        table.pop(name, None)
    return content


def _add(digest: Any, root: Path, file: Path) -> None:
    content = file.read_bytes()
    digest.update(f"{file.relative_to(root).as_posix()}\0{len(content)}\0".encode())
    digest.update(content)


def source_files(path: Path) -> Sequence[Path]:
    """The file itself, or every file below a folder but compiled ones, in a stable order."""
    if path.is_file():
        return [path]
    return sorted(
        file for file in path.rglob("*") if file.is_file() and "__pycache__" not in file.parts
    )


def _version(package: str) -> str:
    from importlib.metadata import version

    return version(package)
