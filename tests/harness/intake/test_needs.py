"""The packages that a submission needs: read from its files, which are not run."""

from __future__ import annotations

import errno
import json
from pathlib import Path

import pytest

from grader.core.submission import Submission
from grader.intake import client
from grader.intake.client import survey
from grader.intake.discovery import discover
from grader.intake.programs import source_facts
from grader.intake.programs.source_facts import read_needs
from tests.harness.conftest import write_files

pytestmark = pytest.mark.unit


def imported(
    root: Path,
    files: dict[str, str],
    adapters: str = "adapters.py",
    import_paths: tuple[str, ...] = (".",),
) -> set[str]:
    """Returns the packages that a submission of these files imports."""
    write_files(root, files)
    submission = Submission("alice", root, adapters, "adapters", import_paths)
    return {*read_needs(submission)}


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("import einx, yaml as y", {"einx", "yaml"}),
        ("import sklearn.linear_model", {"sklearn"}),
        ("from regex import compile", {"regex"}),
        ("import json, os.path, __future__", set()),
        ("def later():\n    import einx", {"einx"}),
        ("class Later:\n    if True:\n        import einx", {"einx"}),
        ("from . import einx", set()),
        ("try:\n    import einx\nexcept ImportError:\n    import regex", {"regex"}),
        ("try:\n    import einx\nexcept (KeyError, ModuleNotFoundError): ...", set()),
        ("try:\n    import einx\nexcept: ...", set()),
        ("try:\n    import einx\nexcept Exception: ...", set()),
        ("with suppress(ImportError):\n    import einx", set()),
        ("with suppress(KeyError):\n    import einx", {"einx"}),
        ("try:\n    import einx\nexcept KeyError: ...", {"einx"}),
        ("try:\n    import einx\nexcept module.Error: ...", {"einx"}),
        ("try:\n    import einx\nexcept KeyError: ...\nexcept ImportError: ...", set()),
        ("try: ...\nexcept ImportError: ...\nelse:\n    import einx", {"einx"}),
        ("try: ...\nexcept ImportError: ...\nfinally:\n    import einx", {"einx"}),
        ("if TYPE_CHECKING:\n    import einx\nelse:\n    import regex", {"regex"}),
        ("if typing.TYPE_CHECKING:\n    import einx", set()),
        ("if name == 'TYPE_CHECKING':\n    import einx", {"einx"}),
        (f"if {'not ' * 1100}x:\n    import einx", {"einx"}),
        ("import einx\ndef broken(:", set()),
        (f"import {'a' * 100}, {'b' * 101}", {"a" * 100}),
    ],
)
def test_a_package_is_needed_if_an_import_of_it_must_succeed(
    tmp_path: Path, source: str, names: set[str]
) -> None:
    """Imports in a `try`, and those for type checkers, may fail at home as well."""
    (tmp_path / "adapters.py").write_text(source)
    assert imported(tmp_path, {}) == names


def test_imports_are_followed_into_the_files_of_the_submission(tmp_path: Path) -> None:
    """Files that no adapter imports do not count."""
    files = {
        "src/mine/__init__.py": "import one\nfrom . import deep\nfrom .deep import thing\n",
        "src/mine/deep.py": "import two\nimport mine\n",
        "src/mine/script.py": "import unused\n",
        "tests/adapters.py": "import mine.deep\nfrom .common import PATH\nfrom ..shared import x\n",
        "tests/common.py": "import three\nfrom ..... import outside\n",
        "shared.py": "import four\n",
        "other/five.py": "",
        "unused.py": "import five\n",
    }
    paths = (".", "src")
    assert imported(tmp_path, files, "tests/adapters.py", paths) == {"one", "two", "three", "four"}


@pytest.mark.parametrize("name", ["own", "folder", "below", "beside", "on_the_path"])
def test_modules_of_the_submission_are_no_packages(tmp_path: Path, name: str) -> None:
    """They lie at the root, on an import path, or one folder down, where a script finds them."""
    files = {
        "adapters.py": f"import {name}\n",
        "own.py": "",
        "folder/below.py": "",
        "folder/beside/deeper.py": "",
        "src/lib/on_the_path.py": "",
    }
    assert imported(tmp_path, files, import_paths=(".", "src/lib")) == set()


def test_an_import_of_thousands_of_names_is_not_looked_for_in_folders_that_are_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each name is a longer path, so that all of them took minutes."""
    looked: list[Path] = []
    monkeypatch.setattr(source_facts, "is_file_at", lambda path: bool(looked.append(path)))
    assert imported(tmp_path, {"adapters.py": f"import {'a.' * 9_000}a"}) == {"a"}
    assert len(looked) == 2


def test_the_search_for_needs_reads_a_bounded_number_of_files(tmp_path: Path) -> None:
    """A hostile submission may have many thousands."""
    files = {f"m{number}.py": f"import m{number + 1}\n" for number in range(299)}
    files |= {"adapters.py": "import m0\n", "m299.py": "import late\n"}
    assert imported(tmp_path, files) == set()
    (tmp_path / "adapters.py").write_text("import m1\n")
    assert imported(tmp_path, {}) == {"late"}


@pytest.mark.process
def test_the_cells_of_a_notebook_count_like_adapters(tmp_path: Path) -> None:
    """A notebook that no adapter runs does not count, nor does a package that Colab provides."""
    cells = ["!pip install einx\nimport einx", "from google.colab import files\nimport own"]
    cells += ["%%writefile own.py\nimport regex", "def run_x(x):\n    return x"]
    code = [{"cell_type": "code", "source": cell} for cell in cells]
    notebook = json.dumps({"cells": code, "nbformat": 4})
    files = {"ann.ipynb": notebook, "bob/adapters.py": "import yaml", "bob/try.ipynb": notebook}
    write_files(tmp_path, files)
    needs = survey(discover([tmp_path]).entries, "adapters.py")
    assert needs == {"einx": 1, "regex": 1, "yaml": 1}


@pytest.mark.process
def test_the_packages_of_a_class_are_counted(tmp_path: Path) -> None:
    """An unreadable submission has no needs, and more entries than processors share processes."""
    files = {f"ann{number}/adapters.py": "import einx\n" for number in range(5)}
    files |= {"bob/adapters.py": "import einx, regex\n"}
    write_files(tmp_path, files)
    (tmp_path / "empty").mkdir()
    needs = survey(discover([tmp_path]).entries, "adapters.py")
    assert needs == {"einx": 6, "regex": 1}
    assert survey([], "adapters.py") == {}


@pytest.mark.process
def test_a_full_disk_stops_no_batch_before_it_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody asked for the survey. Grading then says what is amiss, and costs nobody points."""
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "alice.py").write_text("import einops\n")

    def full() -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(client, "new_scratch", full)
    assert survey(discover([tmp_path / "class"]).entries, "adapters.py") == {}
