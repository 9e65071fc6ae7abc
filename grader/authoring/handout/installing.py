"""How the handout is installed, tested on GitHub, and handed in."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from grader.authoring.handout.engine import PACKAGES, PYTHON

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
      - ./{wheel}
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
    """The packages to install: the engine's `wheel`, with the versions of the file `constraints`,
    if any.

    `name` is the assignment's. `torch_index` is where pip finds torch's builds for CPUs, if told.
    """

    name: str
    wheel: str
    constraints: str | None = None
    torch_index: str | None = None

    def requirements(self) -> str:
        """Returns the requirements for pip and uv."""
        pinned = f"--constraint {self.constraints}\n" if self.constraints else ""
        return f"{pinned}./{self.wheel}\n"

    def environment(self) -> str:
        """Returns the environment for conda: every package but the engine comes from conda's own
        channel.
        """
        packages = [re.sub(r"^torch\b", "pytorch", one) for one in PACKAGES]
        return _ENVIRONMENT.format(
            name=self._plain_name,
            python=PYTHON,
            packages="\n".join(f"  - {re.sub('(?=>)', ' ', one)}" for one in packages),
            wheel=self.wheel,
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
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
      - run: pip install uv
      - run: uv pip install --system --torch-backend cpu -r {REQUIREMENTS}
      - run: pytest
"""


class Platform(StrEnum):
    """Where submissions are handed in."""

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
    git commit -m "Attention weights"
    git push

Add other files of yours to the first line. The state of the main branch when the time is over
counts; push as often as you like. The tests that you have here run after each push: see the tab
*Actions* of your repository.
""",
}


def section(platform: Platform | None) -> str:
    """Returns the part of the README on handing in."""
    return f"{_WHAT}\n{_HOW[platform]}"
