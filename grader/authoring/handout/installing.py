"""The ways to install and to hand in: requirements, a GitHub workflow, two parts of the README."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from grader.authoring.handout import TEMPLATES
from grader.authoring.handout.wheel import PACKAGES, PYTHON
from grader.authoring.templates import filled

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
