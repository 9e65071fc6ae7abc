"""The installation of the handout, its tests on GitHub, and the README's parts about handing in.

The part of the engine that students run is one wheel, which pip, uv and conda install.
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

# The rooms of the engine whose modules run on a student's machine.
_ROOMS = ("core", "explain", "home", "testing", "worker")
_PACKAGE = Path(grader.__file__).parent
# The packages that the engine and the code of students import.
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


def write_wheel(folder: Path) -> str:
    """Writes the wheel into `folder`, and returns its name.

    The same engine makes the same bytes. A changed engine has another version, so that a new
    handout replaces the old engine.
    """
    rooms = (file for room in _ROOMS for file in sorted((_PACKAGE / room).rglob("*.py")))
    files = [_PACKAGE / "__init__.py", *rooms]
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
_ENVIRONMENT = """\
# `conda env create --file environment.yml` installs the assignment.
name: {name}
channels:
  - conda-forge
  - nodefaults
dependencies:
  - python {python},<3.14
{packages}
  - pip
  - pip:
{from_pip}
"""
_SECTION = """\
## Installing

Any Python from 3.11 to 3.13 will do. In this folder, with the tool that you are used to:

**uv** (which also fetches Python)

    uv venv --python 3.12
    {uv}
    uv run pytest

**pip**

    python3 -m venv .venv
    {pip}
    .venv/bin/pytest

On Windows the first line is `py -m venv .venv`, and the programs are in `.venv\\Scripts\\`.{linux}

**conda**

    conda env create --file {environment}
    conda activate {name}
    pytest

**Google Colab**: put this folder into your Google Drive as `{name}`, and run this cell, now and
after each change of your files.

    from google.colab import drive
    drive.mount("/content/drive")
    %cd /content/drive/MyDrive/{name}
    %pip install --quiet ./{wheel}
    !pytest

You need no GPU: uv installs the small build of torch, and so does conda on a machine without one.
(uv asks PyTorch's own server for it: where that is out of reach, leave `--torch-backend cpu` out.)

Your editor's test panel works once it uses the Python of `.venv`, or that of conda's environment.
Below, `pytest` stands for whichever of these lines runs it.
"""
_UV = f"uv pip install --torch-backend cpu -r {REQUIREMENTS}"
_PIP = f".venv/bin/pip install -r {REQUIREMENTS}"
_LINUX = f"""

On Linux that fetches several gigabytes for GPUs. To do without, let uv install, in place of the
second line:

    .venv/bin/pip install uv && .venv/bin/{_UV}"""


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
        return _ENVIRONMENT.format(
            name=self._plain_name,
            python=PYTHON,
            packages="\n".join(f"  - {re.sub('(?=>)', ' ', one)}" for one in packages),
            from_pip="\n".join(f"      - {one}" for one in (f"./{self.wheel}", *self.packages)),
        )

    def section(self) -> str:
        """Returns the part of the README on installing."""
        index = self.torch_index
        return _SECTION.format(
            uv=_UV,
            pip=f"{_PIP} --extra-index-url {index}" if index else _PIP,
            linux="" if index else _LINUX,
            environment=ENVIRONMENT,
            name=self._plain_name,
            wheel=self.wheel,
        )

    @property
    def _plain_name(self) -> str:
        """Returns the name without characters that shells and file systems treat specially."""
        return re.sub("[^A-Za-z0-9]+", "-", self.name).strip("-").lower() or "assignment"


PLACE = ".github/workflows/public-tests.yml"
# uv, unlike pip, knows where torch's builds without GPU libraries are.
WORKFLOW = f"""\
# Runs the tests that you have at home, on every push. Your grade comes from your course.
name: public tests
on: [push, workflow_dispatch]
permissions:
  contents: read
jobs:
  tests:
    runs-on: ubuntu-latest
    timeout-minutes: 20
    steps:
      - uses: actions/checkout@v6
      - uses: actions/setup-python@v6
        with:
          python-version: "3.12"
      - run: pip install uv
      - run: uv pip install --system --torch-backend cpu -r {REQUIREMENTS}
      - run: pytest
"""


class Platform(StrEnum):
    """The platforms where students hand in."""

    CANVAS = "canvas"
    GITHUB = "github"
    GRADESCOPE = "gradescope"
    MOODLE = "moodle"


_WHAT = """\
## Handing in

`adapters.py` and the folder `assignment/`, and your other files if these import any. Tests and
installed packages stay at home.
"""
_ZIP = "Mark both in your file manager, and make one zip of them (*Compress*, or *Send to*, *Zip*)"
_HOW = {
    None: f"{_ZIP},\nand hand in that zip as your course says.\n",
    Platform.CANVAS: f"""\
{_ZIP}.
On Canvas open the assignment, press *Start Assignment*, choose the zip under *File Upload*, and
press *Submit Assignment*. You may do so again: the latest counts.
""",
    Platform.MOODLE: f"""\
{_ZIP}.
In Moodle open the assignment, press *Add submission* (*Edit submission*, once you have one), drop
the zip into the box, and press *Save changes*. Where there is a button *Submit assignment* press
that too, when you are done: nothing can be changed after it.
""",
    Platform.GRADESCOPE: f"""\
{_ZIP}.
On Gradescope open the assignment, drop the zip into *Submit Programming Assignment*, and press
*Upload*. Results appear there after some minutes. You may upload again: the latest counts, unless
you activate an earlier one under *Submission History*.
""",
    Platform.GITHUB: """\
    git add adapters.py assignment
    git commit -m "My solution"
    git push

Add other files of yours to the first line. The state of the main branch when the time is over
counts; push as often as you like. The tests that you have here run after each push: see the tab
*Actions* of your repository.
""",
}


def section(platform: Platform | None) -> str:
    """Returns the part of the README on handing in."""
    return f"{_WHAT}\n{_HOW[platform]}"
