"""A class's packages that are not installed are reported before any grading."""

from __future__ import annotations

import sys

import pytest
from click.testing import CliRunner

from grader.cli.command_line import cli
from grader.intake.client import survey
from grader.intake.discovery import discover
from grader.reports.package_needs import needs_in_words
from tests.harness.conftest import RIGHT, write_files
from tests.harness.repositories.building import REPOSITORIES, build

pytestmark = pytest.mark.process

FILES = {
    "src/mine/__init__.py": "from .deep import thing\nfrom . import *\n",
    "src/mine/deep.py": """
        import json, sklearn.linear_model, yaml as y
        from typing import TYPE_CHECKING
        if TYPE_CHECKING:
            import only_for_types
        try:
            import only_tried
        except ImportError:
            only_tried = None
        def later():
            from regex import compile
        """,
    "src/mine/script.py": "import only_in_a_script\n",
    "tests/adapters.py": "import torch\nimport mine\nfrom .common import PATH\n",
    "tests/common.py": "import einx\nfrom ..... import outside\n",
}


def test_imports_are_followed_from_the_adapters(tmp_path):
    """Code that no adapter imports does not count, nor does an optional import."""
    write_files(tmp_path / "class" / "one", FILES)
    needs = survey(discover([tmp_path / "class"], "tests/adapters.py").entries, "tests/adapters.py")
    assert {*needs} == {"torch", "sklearn", "yaml", "regex", "einx"}


@pytest.mark.parametrize("text", ["[" * 100_000, "\0", "a." * 100_000 + "b = 1\n", "x = [1]\n" * 9])
def test_a_malformed_file_needs_no_package(tmp_path, text):
    """An untrusted file may be malformed; the rest of the class is surveyed all the same."""
    write_files(tmp_path / "class" / "odd", {"adapters.py": text})
    write_files(tmp_path / "class" / "right", {"adapters.py": f"import regex\n{RIGHT}"})
    assert survey(discover([tmp_path / "class"], "adapters.py").entries, "adapters.py") == {
        "regex": 1
    }


@pytest.mark.unit
def test_the_install_command_has_only_known_packages():
    """A name in an untrusted file is no reason to install the package of that name."""
    needs = {"sklearn": 3, "cv2": 1, "tqdm": 2, "json_tools": 1, "torch": 3, "adapters": 1}
    said = list(needs_in_words(needs, ["adapters"], lambda name: name == "torch"))
    assert said == [
        "not installed here: sklearn, which 3 submissions import",
        "not installed here: cv2, which 1 submission imports",
        "not installed here: json_tools, which 1 submission imports",
        "not installed here, and not needed: tqdm",
        "an import alone costs nothing; code that uses a missing package fails",
        f"to install them: {sys.executable} -m pip install scikit-learn opencv-python",
        "unknown to the grader, so check them before you install them: json_tools "
        "(perhaps a file of their own that was not handed in)",
    ]


def test_doctor_lists_the_imports_of_a_class(tmp_path):
    """The command lists the imports of ten repositories and the remedy."""
    for name in REPOSITORIES:
        build(name, tmp_path / "class")
    looked = CliRunner().invoke(
        cli, ["doctor", str(tmp_path / "class"), "--adapters", "tests/adapters.py"]
    )
    assert looked.exit_code == 0, looked.output
    assert "einx, which 1 submission imports" in looked.output
    assert "not needed: tqdm, loguru, wandb" in looked.output
    assert "cs_basics" not in looked.output
