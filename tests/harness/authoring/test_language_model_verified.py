"""Verification of `examples/language_model`: every known mistake is caught under its own name."""

import re
import shutil
from pathlib import Path

import pytest

from tests.harness.authoring.test_verification import numbers

pytestmark = pytest.mark.process

ASSIGNMENT = Path(__file__).parents[3] / "examples" / "language_model"
SOME = ("run_silu", "run_cross_entropy")


@pytest.fixture
def some_exercises(tmp_path) -> Path:
    """A copy of the course with two exercises and the tests of these alone."""
    copy = Path(shutil.copytree(ASSIGNMENT, tmp_path / "course"))
    project = copy / "pyproject.toml"
    exercises = r"^((?:run|get)_\w+) = \d+\n"
    project.write_text(
        re.sub(
            exercises,
            lambda row: row[0] * (row[1] in SOME),
            project.read_text("utf-8"),
            flags=re.MULTILINE,
        ),
        "utf-8",
    )
    mistakes = copy / "solutions" / "mistakes" / "__init__.py"
    text = mistakes.read_text("utf-8")
    assert "\nBUILDS_ON = {" in text
    mistakes.write_text(
        re.sub(r"\nBUILDS_ON = \{.*?\}\n", "\nBUILDS_ON = {}\n", text, flags=re.DOTALL), "utf-8"
    )
    kept = {f"test_{name.partition('_')[2]}.py" for name in SOME}
    for file in copy.glob("tests/*/test_*.py"):
        if file.name not in kept:
            file.unlink()
    return copy


def test_tests_of_two_exercises_catch_their_known_mistakes(grader, some_exercises):
    """Mistakes of the other exercises pass, because nothing tests them here."""
    done = grader("verify", cwd=some_exercises)
    missed = set(re.findall(r"in (\w+) passes every test", done.stdout))
    assert missed
    assert not missed & set(SOME)
    _, caught, _, misnamed, _, _ = numbers(done.stdout.splitlines()[-1])
    assert caught > 8
    assert misnamed == 0


@pytest.mark.slow
def test_the_tests_catch_every_known_mistake_and_name_none_wrongly(grader):
    """There are more than sixty mistakes, most of them in every exercise that builds on them."""
    done = grader("verify", cwd=ASSIGNMENT)
    assert done.returncode == 0, done.stdout + done.stderr
    wrong, caught, named, misnamed, habits, caught_of_them = numbers(done.stdout.splitlines()[-1])
    assert (caught, misnamed, caught_of_them) == (wrong, 0, habits)
    assert named > 0.8 * wrong
