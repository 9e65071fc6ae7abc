"""`grader new`: a fresh assignment, from its first test to its first grades."""

import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def fresh(grader, tmp_path_factory) -> Path:
    """A fresh assignment, in a folder whose name has a space in it."""
    above = tmp_path_factory.mktemp("new")
    done = grader("new", "my course", cwd=above)
    assert done.returncode == 0, done.stderr
    return above / "my course"


def run(*arguments: object, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs a module of Python in a folder."""
    return subprocess.run(
        [sys.executable, "-P", "-m", *map(str, arguments)],
        cwd=cwd,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_a_fresh_assignment_passes_its_own_tests(fresh, home_pytest):
    """The tests grade a right and a wrong submission, and verify the tests of the assignment."""
    done = home_pytest(fresh)
    assert done.returncode == 0, done.stdout
    assert "3 passed" in done.stdout


def test_a_fresh_assignment_makes_a_working_handout(fresh, grader, home_pytest, tmp_path):
    """A known mistake is named in the handout too."""
    handout = tmp_path / "handout"
    done = grader("handout", handout, cwd=fresh)
    assert done.returncode == 0, done.stderr
    printed = home_pytest(handout).stdout
    assert "run_unit_vectors  not implemented yet" in printed
    shutil.copy(fresh / "examples" / "wrong.py", handout / "adapters.py")
    printed = home_pytest(handout).stdout
    assert "run_unit_vectors: you divide each vector by the square of its length" in printed


def test_a_fresh_assignment_grades_its_examples(fresh, grader, tmp_path):
    """Right code gets all points, and a known mistake is named."""
    done = grader("batch", "examples", "--out", tmp_path / "out", cwd=fresh)
    assert done.returncode == 0, done.stderr
    assert "everything right" in done.stdout
    assert "run_unit_vectors: you divide" in done.stdout


def test_new_prints_the_next_commands(grader, tmp_path):
    """The two commands can be typed as they stand."""
    done = grader("new", "a b", cwd=tmp_path)
    assert [line.strip() for line in done.stdout.splitlines()[-2:]] == ["cd 'a b'", "pytest"]


def test_an_assignment_name_may_hold_any_printable_text(grader, tmp_path):
    """Quotes do not end a string, and pip accepts the handout's name."""
    name = 'Ünit "vectors"'
    assert grader("new", "it", "--name", name, cwd=tmp_path).returncode == 0
    project = tomllib.loads((tmp_path / "it" / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["tool"]["grader"]["name"] == name
    assert grader("handout", "../out", cwd=tmp_path / "it").returncode == 0
    handed_out = tomllib.loads((tmp_path / "out" / "pyproject.toml").read_text(encoding="utf-8"))
    assert handed_out["tool"]["grader"]["name"] == name
    assert handed_out["project"]["name"] == "nit-vectors-assignment"


def test_new_refuses_a_folder_that_is_not_empty(grader, tmp_path):
    """The refusal is one sentence, and nothing is written. A new git repository counts as empty."""
    (tmp_path / "mine.txt").write_text("precious")
    done = grader("new", ".", cwd=tmp_path)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert "is not empty: name a new folder" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    (tmp_path / "repository" / ".git").mkdir(parents=True)
    assert grader("new", ".", cwd=tmp_path / "repository").returncode == 0


@pytest.mark.parametrize("name", ["", " ", "two\nlines"])
def test_an_unprintable_assignment_name_is_refused(grader, tmp_path, name):
    """The name appears in every report."""
    done = grader("new", "it", "--name", name, cwd=tmp_path)
    assert done.returncode == 2
    assert "is not a name for an assignment" in done.stderr
    assert not (tmp_path / "it").exists()


def test_a_fresh_assignment_is_formatted_and_has_no_lint(fresh):
    """This project's own rules apply, because authors copy the code."""
    pytest.importorskip("ruff")
    config = ROOT / "pyproject.toml"
    for command in (["check"], ["format", "--check"]):
        done = run("ruff", *command, "--no-cache", "--config", config, fresh, cwd=fresh)
        assert done.returncode == 0, done.stdout


def test_the_template_and_the_rules_are_in_the_wheel(tmp_path):
    """Packaging easily leaves out files that are not Python modules."""
    pytest.importorskip("setuptools", minversion="77")
    source = tmp_path / "source"
    shutil.copytree(ROOT / "grader", source / "grader")
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, source)
    options = ["--no-deps", "--no-build-isolation", "--quiet", "--wheel-dir", tmp_path]
    done = run("pip", "wheel", *options, source, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "installed")
    rules = "grader/explain/rewriting/rules/*.toml"
    held = {file.name for file in (tmp_path / "installed").glob(rules)}
    assert held == {file.name for file in ROOT.glob(rules)} != set()
    done = run("grader", "new", "it", cwd=tmp_path, PYTHONPATH=str(tmp_path / "installed"))
    assert done.returncode == 0, done.stderr
    made = {str(path.relative_to(tmp_path / "it")) for path in (tmp_path / "it").rglob("*.*")}
    assert {".gitignore", "pyproject.toml", "tests/hidden/test_unit_vectors.py"} <= made
