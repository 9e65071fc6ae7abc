"""The wheel with a part of the engine: it installs, and the handout needs no more."""

import re
import shutil
import subprocess
import sysconfig
import tomllib
import venv
from collections.abc import Callable
from email.parser import Parser
from importlib.metadata import packages_distributions
from pathlib import Path
from zipfile import ZipFile

import pytest
import yaml

from grader.authoring.handout import wheel as wheel_module
from grader.authoring.handout.wheel import PACKAGES, PYTHON, write_wheel
from tests.harness.conftest import write_files
from tests.harness.core.test_borders import imports_of

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[3]
INSTALL = "pip install -r requirements.txt"
Student = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def handout(attention_handout, tmp_path_factory) -> Path:
    """The handout of the attention assignment."""
    folder = tmp_path_factory.mktemp("handout") / "attention"
    return Path(shutil.copytree(attention_handout, folder))


@pytest.fixture(scope="module")
def wheel(handout) -> Path:
    """The wheel in the handout, which has a part of the engine."""
    (file,) = handout.glob("*.whl")
    return file


@pytest.fixture(scope="module")
def modules(wheel) -> set[str]:
    """The engine's modules in the wheel."""
    with ZipFile(wheel) as opened:
        files = {Path(name) for name in opened.namelist() if name.startswith("grader/")}
    assert {file.suffix for file in files} == {".py", ".toml"}
    return {".".join(file.with_suffix("").parts).removesuffix(".__init__") for file in files}


def file_of(module: str) -> Path | None:
    """Returns the file of a module of the engine, or None."""
    place = ROOT.joinpath(*module.split("."))
    return next((f for f in (place.with_suffix(".py"), place / "__init__.py") if f.is_file()), None)


@pytest.fixture(scope="module")
def needed() -> set[str]:
    """The engine's modules that the tests import at home."""
    found: set[str] = set()
    # The plugin imports the students' plugin by name only, since a judge does not have it.
    waiting = ["grader.testing.plugin", "grader.home.plugin"]
    while waiting:
        module = waiting.pop()
        file = file_of(module) if module.partition(".")[0] == "grader" else None
        if file is not None and module not in found:
            found.add(module)
            waiting += [*imports_of(file), module.rpartition(".")[0]]
    return found


def test_the_wheel_holds_all_modules_that_the_tests_import(modules, needed):
    """No module for teachers is needed at home."""
    assert modules >= needed


def test_the_wheel_holds_the_rewrite_rules(wheel):
    """Without them, `pytest` would find fewer lines than the class."""
    with ZipFile(wheel) as opened:
        held = {name for name in opened.namelist() if name.endswith(".toml")}
    rules = (ROOT / "grader/explain/rewriting/rules").glob("*.toml")
    assert held == {str(file.relative_to(ROOT)) for file in rules}


def test_the_wheel_holds_no_module_for_teachers(modules):
    """The judge is missing, with all rooms that only a course needs."""
    teachers = ("cli", "authoring", "grading", "reports", "sandbox", "intake", "results")
    assert modules.isdisjoint({f"grader.{room}" for room in teachers})


def test_the_wheel_version_identifies_the_content_of_the_engine(wheel, tmp_path, monkeypatch):
    """Otherwise pip would keep the old engine when a student gets a new handout."""
    assert write_wheel(tmp_path) == wheel.name
    assert (tmp_path / wheel.name).read_bytes() == wheel.read_bytes()
    engine = Path(shutil.copytree(ROOT / "grader", tmp_path / "other" / "grader"))
    (engine / "core" / "more.py").touch()
    monkeypatch.setattr(wheel_module, "_PACKAGE", engine)
    assert write_wheel(tmp_path) != wheel.name


def test_no_module_of_the_current_folder_makes_the_wheel(wheel, tmp_path, monkeypatch):
    """It may be a student's."""
    monkeypatch.chdir(write_files(tmp_path / "alice", {"flit_core.py": "1 / 0", "ast.py": "1 / 0"}))
    assert write_wheel(tmp_path) == wheel.name


def test_the_wheel_requires_the_packages_that_it_and_students_import(wheel, needed):
    """The bounds are those of the project itself, and packages for teachers only are left out."""
    with ZipFile(wheel) as opened:
        (name,) = [one for one in opened.namelist() if one.endswith("METADATA")]
        metadata = Parser().parsestr(opened.read(name).decode())
    assert metadata.get_all("Requires-Dist") == list(PACKAGES)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(PACKAGES) <= set(project["dependencies"])
    assert metadata["Requires-Python"] == PYTHON == project["requires-python"]
    owners = packages_distributions()
    files = [
        *map(file_of, needed),
        *(ROOT / "tests" / "public").glob("*.py"),
        ROOT / "adapters.py",
    ]
    imported = {name.split(".")[0] for file in files for name in imports_of(file)}
    third = {
        owner for name in imported - {"grader", "assignment"} for owner in owners.get(name, ())
    }
    assert {name.lower() for name in third} <= {re.split("[<>=]", one)[0] for one in PACKAGES}


def test_the_conda_environment_lists_the_same_packages_as_the_wheel(handout, wheel):
    """Everything but the engine comes from conda's own channel: pip fetches nothing else."""
    environment = yaml.safe_load((handout / "environment.yml").read_text(encoding="utf-8"))
    python, *packages, _, pip = environment["dependencies"]
    assert environment["name"] == "attention"
    assert python == f"python {PYTHON},<3.14"
    assert [one.replace(" ", "").replace("pytorch", "torch") for one in packages] == [*PACKAGES]
    assert pip == {"pip": [f"./{wheel.name}"]}


@pytest.fixture(scope="module")
def student(handout, tmp_path_factory) -> Student:
    """A student's Python in an unpacked handout, installed by the pip line of its README.

    The engine's packages come from this environment, but the engine itself does not. Lines in a
    .pth file of another folder are not followed.
    """
    folder = Path(shutil.copytree(handout, tmp_path_factory.mktemp("student") / "attention"))
    block = re.search(r"\*\*pip\*\*\n\n((?:    .*\n)+)", (folder / "README.md").read_text())
    lines = [line.strip() for line in block[1].splitlines()]
    assert lines == ["python3 -m venv .venv", f".venv/bin/{INSTALL}", ".venv/bin/pytest"]
    venv.create(folder / ".venv", symlinks=True)
    packages = sysconfig.get_path("purelib", vars={"base": str(folder / ".venv")})
    Path(packages, "needed.pth").write_text(sysconfig.get_path("purelib") + "\n")

    def python(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [".venv/bin/python", *words],
            cwd=folder,
            env={"PATH": "/usr/bin:/bin", "PIP_NO_INDEX": "1", "PYTHONUTF8": "1"},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    done = python("-m", *INSTALL.split())
    assert done.returncode == 0, done.stdout + done.stderr
    return python


def test_one_command_installs_the_handout_and_pytest_runs(student):
    """The project's own engine is not used."""
    printed = student("-m", "pytest").stdout
    assert printed.count("not implemented yet") == 15
    assert "Start with run_softmax" in printed
    assert "/attention/.venv/" in student("-c", "import grader; print(grader.__file__)").stdout


def test_the_installed_handout_names_mistakes_and_lines(student):
    """The wheel also has the modules that load only after a failure."""
    folder = Path(student("-c", "import os; print(os.getcwd())").stdout.strip())
    shutil.copytree(ROOT / "examples" / "class" / "mei-tanaka", folder, dirs_exist_ok=True)
    done = student("-m", "pytest", "--locate", "-k", "attention_dropout")
    assert "your dropout drops weights in evaluation too" in done.stdout
    assert "adapters.py:31: dropout = Dropout(p)" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
