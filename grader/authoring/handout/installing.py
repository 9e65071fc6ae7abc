"""The handout's wheel, its requirements, its workflow on GitHub, and two parts of its README.

The wheel holds the part of the engine that students run; pip, uv and conda install it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import grader
from grader.authoring.templates import filled

# The rooms of the engine whose modules run on a student's machine.
_ROOMS = ("core", "explain", "home", "testing", "worker")
_PACKAGE = Path(grader.__file__).parent
# The packages that the engine and the code of students import.
PACKAGES = (
    *("beartype>=0.19", "einops>=0.8", "jaxtyping>=0.3", "numpy>=1.26", "pytest>=8.4"),
    *("safetensors>=0.4.5", "torch>=2.4"),
)
PYTHON = ">=3.11"
TEMPLATES = Path(__file__).with_name("template")


def write_wheel(folder: Path) -> str:
    """Writes the wheel into `folder`, and returns its name.

    The same engine gives the same bytes. A changed engine has another version: otherwise pip would
    keep the engine of an older handout.
    """
    rooms = (file for room in _ROOMS for file in sorted((_PACKAGE / room).rglob("*.py")))
    files = [_PACKAGE / "__init__.py", *rooms]
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


REQUIREMENTS = "requirements.txt"
ENVIRONMENT = "environment.yml"
_PIP = f".venv/bin/pip install -r {REQUIREMENTS}"


@dataclass(frozen=True, slots=True)
class Installation:
    """The packages to install: the engine's `wheel`, and versions in the file `constraints` if any.

    `name` is the assignment's name. `torch_index` is the address of torch's builds for CPUs, if the
    course gives one. `packages` are the distributions that submissions may import.
    """

    name: str
    wheel: str
    constraints: str | None = None
    torch_index: str | None = None
    packages: Sequence[str] = ()

    def requirements(self) -> str:
        """Returns the requirements for pip and uv."""
        pinned = f"--constraint {self.constraints}\n" if self.constraints else ""
        return pinned + "".join(f"{one}\n" for one in (f"./{self.wheel}", *self.packages))

    def environment(self) -> str:
        """Returns conda's environment; the engine and the assignment's packages come from pip."""
        packages = [re.sub(r"^torch\b", "pytorch", one) for one in PACKAGES]
        return filled(
            TEMPLATES / "environment.yml.template",
            name=self._plain_name,
            python=PYTHON,
            packages="\n".join(f"  - {re.sub('(?=>)', ' ', one)}" for one in packages),
            from_pip="\n".join(f"      - {one}" for one in (f"./{self.wheel}", *self.packages)),
        )

    def section(self) -> str:
        """Returns the part of the README on installing."""
        index = self.torch_index
        return filled(
            TEMPLATES / "installing.md.template",
            pip=f"{_PIP} --extra-index-url {index}" if index else _PIP,
            linux="" if index else filled(TEMPLATES / "installing_on_linux.md.template"),
            name=self._plain_name,
            wheel=self.wheel,
        )

    @property
    def _plain_name(self) -> str:
        """Returns the name without characters that shells and file systems treat specially."""
        return re.sub("[^A-Za-z0-9]+", "-", self.name).strip("-").lower() or "assignment"


PLACE = ".github/workflows/public-tests.yml"
# uv, unlike pip, knows where torch's builds without GPU libraries are.
WORKFLOW = filled(TEMPLATES / "public-tests.yml.template")


class Platform(StrEnum):
    """The platforms where students hand in."""

    CANVAS = "canvas"
    GITHUB = "github"
    GRADESCOPE = "gradescope"
    MOODLE = "moodle"


def section(platform: Platform | None) -> str:
    """Returns the part of the README on handing in."""
    return filled(TEMPLATES / "handing_in" / f"{platform or 'elsewhere'}.md.template")
