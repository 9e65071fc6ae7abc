"""Lays out the folder that students get."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from grader.authoring.handout.contract import frozen_contract
from grader.authoring.handout.engine import PYTHON, write_wheel
from grader.authoring.handout.freezing import freeze_public_tests
from grader.authoring.handout.handing_in import Platform, section
from grader.authoring.handout.installing import ENVIRONMENT, REQUIREMENTS, Installation
from grader.authoring.handout.readme import PAGE, readme
from grader.authoring.handout.workflow import PLACE, WORKFLOW
from grader.core.assignment import Assignment, BadAssignment
from grader.home.contract import CONTRACT
from grader.testing.frozen_cases import FIXTURES, remove_frozen

_IGNORED = shutil.ignore_patterns("__pycache__", "*.pyc", ".*", "*.egg-info")
_PARTS = ("adapters.py", "assignment", "tests/conftest.py", "tests/public")
_CONSTRAINTS = "constraints.txt"
# uv is not to manage it: what it would choose itself is torch's build for GPUs.
_PROJECT = """\
[project]
name = "{distribution}-assignment"
version = "1"
requires-python = "{python}"

[tool.uv]
managed = false

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
_GITIGNORE = """\
# What Python, its tools and editors leave behind.
__pycache__/
.pytest_cache/
.venv/
.ipynb_checkpoints/
.idea/
.vscode/
.DS_Store
# What is handed in.
*.zip
"""


@dataclass(frozen=True, slots=True)
class Course:
    """What a course says of its handout: where students hand in, and an index of torch for CPUs."""

    platform: Platform | None = None
    torch_index: str | None = None


def lay_out(assignment: Assignment, folder: Path, course: Course) -> None:
    """Writes the handout into `folder`, which must not exist yet or be empty.

    Raises:
        BadAssignment: if the folder is in use or cannot be written, a part of the assignment is
            missing, or a reference does not pass a public test.
    """
    if folder.exists() and any(folder.iterdir()):
        raise BadAssignment(f"{folder} is not empty: name a new folder for the handout")
    try:
        _lay_out(assignment, folder, course)
    except OSError as error:
        raise BadAssignment(
            f"the handout cannot be made: {error.filename or folder}: {error.strerror or error}"
        ) from error


def _lay_out(assignment: Assignment, folder: Path, course: Course) -> None:
    root, tests = assignment.root, folder / "tests" / "public"
    with tempfile.TemporaryDirectory() as private:
        # The folder itself is for nobody else's eyes, and what is in it for all.
        frozen = Path(private, "public")
        frozen.mkdir()
        # If that fails, nothing has been written.
        freeze_public_tests(assignment, frozen)
        folder.mkdir(parents=True, exist_ok=True)
        for part in _PARTS:
            _copy(root / part, folder / part)
        remove_frozen(tests / FIXTURES)
        shutil.copytree(frozen, tests, dirs_exist_ok=True)
    wheel = write_wheel(folder.rglob("*.py"), folder)
    constraints = _CONSTRAINTS if (root / _CONSTRAINTS).is_file() else None
    if constraints:
        _copy(root / constraints, folder / constraints)
    installation = Installation(assignment.name, wheel, constraints, course.torch_index)
    page = (root / PAGE).read_text(encoding="utf-8") if (root / PAGE).is_file() else None
    texts = {
        "README.md": readme(
            assignment.name, page, installation.section(), section(course.platform)
        ),
        "pyproject.toml": _project(assignment),
        CONTRACT: frozen_contract((root / "adapters.py").read_text(encoding="utf-8")),
        REQUIREMENTS: installation.requirements(),
        ENVIRONMENT: installation.environment(),
        ".gitignore": _GITIGNORE,
        PLACE: WORKFLOW,
    }
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, ignore=_IGNORED)
    else:
        shutil.copyfile(source, target)


def _project(assignment: Assignment) -> str:
    return _PROJECT.format(
        distribution=re.sub("[^A-Za-z0-9]+", "-", assignment.name).strip("-") or "an",
        python=PYTHON,
        name=json.dumps(assignment.name, ensure_ascii=False),
        show_edits=json.dumps(assignment.show_edits),
        call_timeout=assignment.call_timeout,
        exercises=_lines(assignment.points),
        forbidden=_lines({f'"{name}"': cost for name, cost in assignment.forbidden.items()}),
    )


def _lines(numbers: Mapping[str, float]) -> str:
    return "\n".join(f"{name} = {number:g}" for name, number in numbers.items())
