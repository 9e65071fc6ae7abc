"""Every known mistake of `examples/language_model` is caught, and none is taken for another."""

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

ASSIGNMENT = Path(__file__).parents[3] / "examples" / "language_model"


def test_its_tests_catch_every_known_mistake_and_only_those(grader):
    """More than sixty mistakes, most of them in every exercise that builds on what is wrong."""
    done = grader("verify", cwd=ASSIGNMENT)
    assert done.returncode == 0, done.stdout + done.stderr
    numbers = map(int, re.findall(r"\d+", done.stdout.splitlines()[-1]))
    wrong, caught, named, misnamed, habits, caught_of_them = numbers
    assert (caught, misnamed, caught_of_them) == (wrong, 0, habits)
    assert named > 0.8 * wrong
