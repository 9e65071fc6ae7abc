"""A second assignment in the same engine: `examples/feed_forward`, from verification to handout."""

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.authoring.handout.fixture_differences import differences
from grader.results.store import Store

pytestmark = pytest.mark.process

ASSIGNMENT = Path(__file__).parents[3] / "examples" / "feed_forward"


@pytest.fixture(scope="module")
def handout(grader, tmp_path_factory) -> Path:
    """The handout for students."""
    folder = tmp_path_factory.mktemp("handout") / "feed-forward"
    done = grader("handout", folder, cwd=ASSIGNMENT)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def pytest_in(home_pytest) -> Callable[[Path], str]:
    """A function that runs `pytest` in a folder and returns its output."""

    def run(folder: Path) -> str:
        done = home_pytest(folder)
        return done.stdout + done.stderr

    return run


@pytest.mark.slow
def test_the_second_assignments_own_tests_pass(pytest_in):
    """The class of nine has right code in two styles, wrong code, missing code and exceptions."""
    printed = pytest_in(ASSIGNMENT)
    assert re.search(r"\b11 passed", printed), printed


def test_the_references_get_full_marks_and_the_stubs_none(grader, tmp_path):
    """The references fulfil every test, and all exercises of the stubs are missing."""
    handed_in, out = tmp_path / "handed-in", tmp_path / "out"
    shutil.copytree(ASSIGNMENT / "solutions", handed_in / "references" / "model_answers")
    (handed_in / "references" / "adapters.py").write_text("from model_answers import *\n")
    shutil.copytree(ASSIGNMENT / "assignment", handed_in / "stubs" / "assignment")
    shutil.copy(ASSIGNMENT / "adapters.py", handed_in / "stubs")
    done = grader("batch", handed_in, "--out", out, cwd=ASSIGNMENT)
    assert done.returncode == 0, done.stderr
    references, stubs = Store.read(out).grades()
    assert references.score == references.max_score == 100
    assert {str(test.status) for test in stubs.tests} == {"missing"}


@pytest.mark.slow
def test_the_tests_catch_every_known_mistake_and_name_none_wrongly(grader):
    """Each variant of a mistake that changes numbers is also named."""
    done = grader("verify", cwd=ASSIGNMENT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    habits = (4 * 5) + 2
    assert done.stdout.splitlines()[-1] == (
        f"{48 - habits} wrong functions: {48 - habits} caught, {48 - habits} named, 0 misnamed; "
        f"{habits} with habits: {habits} caught"
    )


def test_the_handout_has_no_solutions_and_every_exercise_is_missing(handout, pytest_in):
    (wheel,) = handout.glob("*.whl")
    assert {path.name for path in handout.iterdir()} == {
        ".github", ".gitignore", "README.md", "adapters.py", "assignment", "conftest.py",
        "environment.yml",
        wheel.name, "pyproject.toml", "requirements.txt", "tests",
    }  # fmt: skip
    assert not (handout / "tests" / "hidden").exists()
    assert pytest_in(handout).count("not implemented yet") == 4


def test_right_code_passes_at_home_and_a_mistake_is_named(handout, pytest_in, tmp_path):
    """The handout has fixture tensors, without the references."""
    mine = shutil.copytree(handout, tmp_path / "mine")
    shutil.copytree(ASSIGNMENT / "class" / "ada-lindgren", mine, dirs_exist_ok=True)
    assert "failed" not in pytest_in(mine)
    shutil.copy(ASSIGNMENT / "class" / "diego-santos" / "adapters.py", mine)
    assert " the activation is on the wrong one of the two projections" in pytest_in(mine)


def test_the_committed_fixtures_are_up_to_date(handout):
    """An author runs `grader freeze` after each change of a public test, reference or mistake."""
    committed = ASSIGNMENT / "tests" / "public" / "fixtures"
    assert differences(handout / "tests" / "public" / "fixtures", committed) == []


def test_the_references_reproduce_the_examples_of_the_stubs():
    """The references compute the same values as the docstrings."""
    script = (
        "import doctest, sys, solutions\n"
        "from assignment import feed_forward, norms\n"
        "names = {n.removeprefix('run_'): f for n, f in vars(solutions).items() if 'run_' in n}\n"
        "results = [doctest.run_docstring_examples(getattr(m, n), dict(names), name=n)\n"
        "           for m in (feed_forward, norms) for n in vars(m) if n in names]\n"
        "print(len(results))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ASSIGNMENT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "4", done.stdout
