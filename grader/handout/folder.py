"""Lays out the folder that students get."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

import grader
from grader.assignment import Assignment, BadAssignment
from grader.handout.freezing import freeze_public_tests
from grader.handout.workflow import PLACE, students_workflow
from grader.home.fixtures import FIXTURES

_IGNORED = shutil.ignore_patterns("__pycache__", "*.pyc", ".*", "*.egg-info")
_STUDENTS_PAGE = Path("docs/students.md")
_PROJECT = """\
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "{distribution}-assignment"
version = "1"
requires-python = ">=3.11"
dependencies = [{dependencies}]

[tool.setuptools]
packages = []

[tool.grader]
name = {name}
show_edits = {show_edits}
call_timeout = {call_timeout:g}

[tool.grader.exercises]
{exercises}

[tool.grader.forbidden]
{forbidden}

[tool.pytest.ini_options]
testpaths = ["tests/public"]
pythonpath = ["."]
addopts = "--import-mode=importlib"
"""
_PACKAGES = ("beartype", "einops", "jaxtyping", "numpy", "pytest", "safetensors", "torch")


def lay_out(assignment: Assignment, folder: Path) -> None:
    """Writes the handout into `folder`, which must not exist yet or be empty.

    Raises:
        BadAssignment: if the folder is in use or cannot be written, a part of the assignment is
            missing, or a reference does not pass a public test.
    """
    if folder.exists() and any(folder.iterdir()):
        raise BadAssignment(f"{folder} is not empty: name a new folder for the handout")
    try:
        _lay_out(assignment, folder)
    except OSError as error:
        raise BadAssignment(
            f"the handout cannot be made: {error.filename or folder}: {error.strerror or error}"
        ) from error


def _lay_out(assignment: Assignment, folder: Path) -> None:
    root, tests = assignment.root, folder / "tests" / "public"
    with tempfile.TemporaryDirectory() as frozen:
        # If that fails, nothing has been written.
        freeze_public_tests(assignment, Path(frozen))
        folder.mkdir(parents=True, exist_ok=True)
        for part in ("adapters.py", "assignment", "tests/conftest.py", "tests/public"):
            _copy(root / part, folder / part)
        shutil.rmtree(tests / FIXTURES, ignore_errors=True)
        shutil.copytree(frozen, tests, dirs_exist_ok=True)
    _copy(Path(grader.__file__).parent, folder / "grader")
    (folder / "pyproject.toml").write_text(_project(assignment), encoding="utf-8")
    constraints = "constraints.txt" if (root / "constraints.txt").is_file() else None
    if constraints:
        _copy(root / constraints, folder / constraints)
    (folder / PLACE).parent.mkdir(parents=True)
    (folder / PLACE).write_text(students_workflow(constraints), encoding="utf-8")
    page = root / _STUDENTS_PAGE
    if page.is_file():
        _copy(page, folder / "README.md")
    else:
        (folder / "README.md").write_text(_readme(assignment), encoding="utf-8")


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, ignore=_IGNORED)
    else:
        shutil.copyfile(source, target)


def _project(assignment: Assignment) -> str:
    return _PROJECT.format(
        distribution=re.sub("[^A-Za-z0-9]+", "-", assignment.name).strip("-") or "an",
        name=json.dumps(assignment.name, ensure_ascii=False),
        dependencies=", ".join(f'"{package}"' for package in _PACKAGES),
        show_edits=json.dumps(assignment.show_edits),
        call_timeout=assignment.call_timeout,
        exercises=_lines(assignment.points),
        forbidden=_lines({f'"{name}"': cost for name, cost in assignment.forbidden.items()}),
    )


def _lines(numbers: Mapping[str, float]) -> str:
    return "\n".join(f"{name} = {number:g}" for name, number in numbers.items())


def _readme(assignment: Assignment) -> str:
    return (
        f"# {assignment.name}\n\n"
        "Fill in the functions in `assignment/`, then run the tests:\n\n"
        "    python3 -m venv .venv\n"
        "    .venv/bin/pip install -e .\n"
        "    .venv/bin/pytest\n"
    )
