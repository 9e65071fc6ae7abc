"""Hashes of what a grade depends on, so that nothing is graded twice without need."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import grader
from grader.assignment import Assignment


def suite_hash(assignment: Assignment) -> str:
    """A hash of the tests, the references, the contract, the points, and the grader itself."""
    digest = hashlib.sha256()
    root, engine = assignment.root, Path(grader.__file__).parent
    parts = ["adapters.py", "pyproject.toml", "tests/conftest.py", "tests/public", "tests/hidden"]
    for part in (*parts, "solutions", "assignment"):
        _add(digest, root, root / part)
    _add(digest, engine, engine)
    digest.update(f"{_version('torch')} {platform.python_version()}".encode())
    return digest.hexdigest()


def cache_key(submission_hash: str, suite: str, settings: dict[str, Any]) -> str:
    """What a grade depends on, in one hash."""
    text = json.dumps([submission_hash, suite, settings], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _add(digest: Any, root: Path, path: Path) -> None:
    for file in _source_files(path):
        content = file.read_bytes()
        digest.update(f"{file.relative_to(root).as_posix()}\0{len(content)}\0".encode())
        digest.update(content)


def _source_files(path: Path) -> Iterable[Path]:
    if path.is_file():
        return [path]
    return sorted(
        file for file in path.rglob("*") if file.is_file() and "__pycache__" not in file.parts
    )


def _version(package: str) -> str:
    from importlib.metadata import version

    return version(package)
