"""`grader verify --seeds`: no score of a known function depends on the seed."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from grader.core.assignment import find_assignment
from tests.harness.conftest import ROOT, TINY, write_files
from tests.harness.marks import rest_slow

pytestmark = pytest.mark.process

SEEDS = 6
FEED_FORWARD, ATTENTION, LANGUAGE_MODEL = "examples/feed_forward", ".", "examples/language_model"
# All exercises of a quick assignment, two of another one, then each exercise by itself.
EXERCISES = [
    (FEED_FORWARD, (*find_assignment(ROOT / FEED_FORWARD).points,)),
    (ATTENTION, ("run_softmax", "run_rope")),
    *(
        (assignment, (name,))
        for assignment in (ATTENTION, LANGUAGE_MODEL)
        for name in find_assignment(ROOT / assignment).points
    ),
]
# This function is right for numbers that are not negative, which one draw gives with some seeds
# only.
UNSIGNED = """
MISTAKES = (
    *MISTAKES,
    Mistake("unsigned", "The sign is lost.", "What is twice -1?",
            {"run_double": (lambda x: 2 * x.abs(),)}),
)
"""
ONE_NUMBER = """
    from grader.testing import assert_matches, exercise

    @exercise("run_double")
    def test_doubles(student, reference, draw):
        '''A number is doubled.'''
        x = draw(1)
        assert_matches(student(x), reference(x))

    @exercise("run_count")
    def test_counts(student, reference, draw):
        '''The numbers are counted.'''
        x = draw(2, 3)
        assert_matches(student(x), reference(x))
"""


@pytest.fixture
def unsteady(tmp_path) -> Path:
    """An assignment whose one test of `run_double` draws one number."""
    files = {name: text for name, text in TINY.items() if "hidden" not in name}
    files["solutions/mistakes.py"] = textwrap.dedent(TINY["solutions/mistakes.py"]) + UNSIGNED
    return write_files(tmp_path / "unsteady", files | {"tests/public/test_tiny.py": ONE_NUMBER})


def test_verify_reports_that_no_score_depends_on_the_seed(grader, tiny):
    """References pass and mistakes are caught, with the same score under all seeds."""
    done = grader("verify", "--seeds", SEEDS, "--assignment", tiny)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{SEEDS} seeds: " in done.stdout
    assert "0 with points lost" in done.stdout
    assert "0 not always caught, 0 with a score that hangs on the seed" in done.stdout


def test_verify_reports_mistakes_that_only_some_seeds_catch(grader, unsteady):
    """The output has the mistake, the exercise, the test and the number of seeds."""
    done = grader("verify", "--seeds", SEEDS, "--assignment", unsteady)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "unsigned, way 1, in run_double passes every test with " in done.stdout
    assert f"of {SEEDS} seeds (" in done.stdout
    assert "tests/public/test_tiny.py::test_doubles with " in done.stdout
    assert "1 not always caught" in done.stdout


def test_verify_refuses_seeds_together_with_edits(grader, tiny):
    """The two options answer different questions."""
    done = grader("verify", "--seeds", SEEDS, "--edits", "--assignment", tiny)
    assert done.returncode == 2
    assert "give one of them" in done.stderr


@pytest.mark.parametrize(
    ("assignment", "exercises"),
    rest_slow(EXERCISES, EXERCISES[:2], rows=True),
    ids=lambda value: value if isinstance(value, str) else " and ".join(value[:2]),
)
def test_no_score_of_the_bundled_assignments_depends_on_the_seed(grader, assignment, exercises):
    """Right functions pass, and a wrong one gets the same points under two fixed seeds."""
    asked = (word for name in exercises for word in ("--exercise", name))
    done = grader("verify", "--seeds", 2, "--jobs", 2, *asked, "--assignment", ROOT / assignment)
    assert done.returncode == 0, done.stdout + done.stderr
