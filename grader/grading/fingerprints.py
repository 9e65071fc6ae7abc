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
from grader.core.assignment import Assignment
from grader.core.settings import Settings
from grader.grading.test_files import TestFile, files_of_tests

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
SHARED = ""
# No verdict depends on points or on days; what is loaded ahead changes no grade.
_NOT_SHARED = ("exercises", "preload", "late")


def hashes_by_test(assignment: Assignment, exercises: Collection[str] = ()) -> dict[str, str]:
    """By test, a hash of all that a verdict on it depends on beside submission and options.

    A test is named by its file and its function. Its hash is of that function, of the rest of the
    file, and of what all tests share: the contract, the references, whatever else lies beside the
    tests, the grader itself. The hash of what is shared stands at `SHARED`, for tests of which the
    sources do not tell what else they depend on. Only tests of `exercises` have one, if some are
    given. Points are no part of it: verdicts do not depend on them.
    """
    root, engine = assignment.root, Path(grader.__file__).parent
    files = [file for part in SUITE for file in source_files(root / part)]
    tests = _files_of_tests(assignment, files)
    frozen = {_frozen_beside(file) for file in tests}
    shared = hashlib.sha256()
    for file in files:
        if file not in tests and file not in frozen and file != root / "pyproject.toml":
            _add(shared, root, file)
    for file in source_files(engine):
        _add(shared, engine, file)
    shared.update(json.dumps(_settings(root), sort_keys=True, default=str).encode())
    shared.update(f"{_version('torch')} {platform.python_version()}".encode())
    hashes = {SHARED: shared.hexdigest()}
    for file, written in tests.items():
        place = file.relative_to(root).as_posix()
        for test in written.tests:
            if not exercises or test.exercise in exercises:
                digest = shared.copy()
                digest.update(json.dumps([place, written.rest, test.content]).encode())
                hashes[f"{place}::{test.name}"] = digest.hexdigest()
    return hashes


def without_parameters(test: str) -> str:
    """A test's id as `hashes_by_test` has it: those of one function are one."""
    return test.partition("[")[0]


def suite_hash(
    assignment: Assignment, hashes: Mapping[str, str], exercises: Collection[str] = ()
) -> str:
    """What all grades of a batch depend on in common, from the hashes of the tests."""
    points = [item for item in assignment.points.items() if not exercises or item[0] in exercises]
    return hashlib.sha256(json.dumps([[*hashes.items()], points]).encode()).hexdigest()


def grade_key(settings: Settings, submission_hash: str, suite: str | None = None) -> str:
    """What the grade of a submission depends on, in one hash; with another `suite`, if given.

    Where the assignment's folder lies changes no grade.
    """
    limits = [settings.timeout, settings.memory_mb]
    options = [settings.seed, settings.adapters, *limits, settings.device]
    text = json.dumps([submission_hash, suite or settings.suite_hash, options])
    return hashlib.sha256(text.encode()).hexdigest()


def _files_of_tests(assignment: Assignment, files: Sequence[Path]) -> Mapping[Path, TestFile]:
    """The modules of tests that matter to their own tests only."""
    folders = (assignment.public_tests, assignment.hidden_tests)
    modules = [file for file in files if any(file.is_relative_to(it) for it in folders)]
    others = [file for file in files if file not in modules]
    return {
        file: written
        for file, written in files_of_tests(modules, others).items()
        if {test.exercise for test in written.tests} <= {*assignment.points}
    }


def _frozen_beside(module: Path) -> Path:
    """What students hold of a module's tests, which no verdict of a judge depends on."""
    return module.parent / "fixtures" / f"{module.stem}.safetensors"


def _settings(root: Path) -> dict[str, Any]:
    """The assignment's `pyproject.toml` without what no verdict depends on."""
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
