"""The part of the engine that students run, as one wheel that pip, uv and conda install."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import grader

_DOTTED = re.compile(r"[A-Za-z_]\w*(\.\w+)*")


def needed(files: Iterable[Path], modules: Iterable[str], package: Path) -> list[Path]:
    """Returns the files of a package that are imported by `files`, by `modules`, or by one another.

    That goes for imports inside functions too, and for names of modules that stand alone in a
    string, as in `import_module("package.module")` and pytest's `pytest_plugins`; not for what
    only type checkers import.
    """
    found: set[Path] = set()
    waiting = [*modules]
    for file in files:
        waiting += _imported(file)
    while waiting:
        for file in _files_of(waiting.pop(), package):
            if file not in found:
                found.add(file)
                waiting += _imported(file)
    return sorted(found)


def _files_of(module: str, package: Path) -> Iterator[Path]:
    """Yields the files of a module of `package` and of the packages around it."""
    top, *names = module.split(".")
    for depth in range(len(names) + 1) if top == package.name else ():
        place = package.joinpath(*names[:depth])
        for file in (place.with_suffix(".py"), place / "__init__.py"):
            if file.is_file():
                yield file


def _imported(file: Path) -> Iterator[str]:
    """Yields the names that a file may import: some are of modules, others of what is in them."""
    for node in _run_time_nodes(ast.parse(file.read_bytes(), file)):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=str(module), names=names, level=0):
                yield module
                yield from (f"{module}.{alias.name}" for alias in names)
            case ast.Constant(value=str(text)) if _DOTTED.fullmatch(text):
                yield text


def _run_time_nodes(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for child in ast.iter_child_nodes(node):
        if not _is_for_type_checkers(child):
            yield from _run_time_nodes(child)


def _is_for_type_checkers(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.If)
        and isinstance(node.test, ast.Name)
        and node.test.id == "TYPE_CHECKING"
    )


# What tests are written with; the plugin loads what students' machines need besides.
_ENTRIES = ("grader.testing", "grader.testing.plugin")
_PACKAGE = Path(grader.__file__).parent
# What the engine and the code of students import.
PACKAGES = (
    *("beartype>=0.19", "einops>=0.8", "jaxtyping>=0.3", "numpy>=1.26", "pytest>=8.4"),
    *("safetensors>=0.4.5", "torch>=2.4"),
)
PYTHON = ">=3.11"
_PROJECT = """\
[project]
name = "grader-at-home"
version = "{version}"
description = "What the tests of an assignment need on a student's machine."
requires-python = "{python}"
dependencies = {dependencies}

[tool.flit.module]
name = "grader"
"""


def modules_at_home(tests: Iterable[Path]) -> list[Path]:
    """Returns the engine's files that the handed-out `tests` need on a student's machine."""
    return needed(tests, _ENTRIES, _PACKAGE)


def write_wheel(tests: Iterable[Path], folder: Path) -> str:
    """Writes the wheel with those files into `folder`, and returns its name.

    The same engine makes the same bytes. Another one has another version, so that whoever gets a
    new handout does not stay with the old engine.
    """
    files = modules_at_home(tests)
    with tempfile.TemporaryDirectory() as scratch:
        source, built = Path(scratch, "source"), Path(scratch, "built")
        for file in files:
            copy = source / file.relative_to(_PACKAGE.parent)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, copy)
        project = _PROJECT.format(
            version=f"{grader.__version__}+{_label(files)}",
            python=PYTHON,
            dependencies=json.dumps(PACKAGES),
        )
        (source / "pyproject.toml").write_text(project, encoding="utf-8")
        subprocess.run(
            [sys.executable, "-m", "flit_core.wheel", "--outdir", built, source],
            env=os.environ | {"SOURCE_DATE_EPOCH": "0"},
            stdout=subprocess.DEVNULL,
            check=True,
        )
        (wheel,) = built.iterdir()
        shutil.copyfile(wheel, folder / wheel.name)
        return wheel.name


def _label(files: Sequence[Path]) -> str:
    """Returns a local version that changes with the files."""
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.relative_to(_PACKAGE).as_posix().encode() + b"\0")
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return f"engine{digest.hexdigest()[:8]}"
