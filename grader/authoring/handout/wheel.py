"""The wheel in a handout: the part of the engine that students run, for pip, uv and conda."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import grader
from grader.authoring.handout import TEMPLATES
from grader.authoring.templates import filled

# The rooms of the engine whose modules run on a student's machine.
_ROOMS = ("core", "explain", "home", "testing", "worker")
_SUFFIXES = (".py", ".toml")
_PACKAGE = Path(grader.__file__).parent
# The packages that the engine and the code of students import.
PACKAGES = (
    *("beartype>=0.19", "einops>=0.8", "jaxtyping>=0.3", "numpy>=1.26", "pytest>=8.4"),
    *("safetensors>=0.4.5", "torch>=2.4"),
)
PYTHON = ">=3.11"


def write_wheel(folder: Path) -> str:
    """Writes the wheel into `folder`, and returns its name.

    The same engine gives the same bytes. A changed engine has another version: otherwise pip would
    keep the engine of an older handout.
    """
    rooms = (file for room in _ROOMS for file in sorted((_PACKAGE / room).rglob("*")))
    files = [_PACKAGE / "__init__.py", *(one for one in rooms if one.suffix in _SUFFIXES)]
    with tempfile.TemporaryDirectory() as scratch:
        source, built = Path(scratch, "source"), Path(scratch, "built")
        for file in files:
            copy = source / file.relative_to(_PACKAGE.parent)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, copy)
        project = filled(
            TEMPLATES / "wheel.toml.template",
            version=f"{grader.__version__}+{_label(files)}",
            python=PYTHON,
            dependencies=json.dumps(PACKAGES),
        )
        (source / "pyproject.toml").write_text(project, encoding="utf-8")
        subprocess.run(
            [sys.executable, "-m", "flit_core.wheel", "--outdir", built, source],
            cwd=scratch,  # Python would import modules from the current folder
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
        name = file.relative_to(_PACKAGE).as_posix().encode()
        digest.update(name + b"\0" + hashlib.sha256(file.read_bytes()).digest())
    return f"engine{digest.hexdigest()[:8]}"
