"""The part of the engine that students run, as one file that pip, uv and conda install."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import grader
from grader.authoring.handout.closure import needed

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
    """The engine's files that a student's machine needs, to whom the files `tests` are handed."""
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
    """A local version that changes with the files."""
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.relative_to(_PACKAGE).as_posix().encode() + b"\0")
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return f"engine{digest.hexdigest()[:8]}"
