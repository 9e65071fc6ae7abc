"""The assignment's own tests: right code gets full marks, and wrong code what it deserves."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import grader
from grader.reports.standing import standings

ROOT = Path(__file__).parents[1]
EXPECTED = tomllib.loads((ROOT / "expected.toml").read_text())


@pytest.fixture(scope="module")
def grades(tmp_path_factory) -> dict[str, grader.Grade]:
    """The grades of the class, by the submissions' names."""
    out = tmp_path_factory.mktemp("results")
    results = grader.batch(ROOT / "class", out, assignment=ROOT, adapters="tests/adapters.py")
    return {grade.submission: grade for grade in results.grades()}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_submission_gets_what_it_deserves(grades, name):
    """The standing of each exercise, and the mistakes that are named."""
    grade, expected = grades[name], EXPECTED[name]
    assert grade.status is grader.GradeStatus.GRADED
    assert grade.score == pytest.approx(expected.get("score", grade.score))
    got = {one.exercise: str(one.standing) for one in standings(grade)}
    assert got == dict.fromkeys(got, expected["exercises"]) | expected.get("except", {})
    named = {test.exercise: test.diagnosis.mistake for test in grade.tests if test.diagnosis}
    mistakes = expected.get("mistakes", {})
    assert {exercise: named.get(exercise) for exercise in mistakes} == mistakes


def test_the_tests_catch_every_known_mistake_and_only_those():
    """The references pass every test, each mistake fails one, and none is taken for another."""
    done = subprocess.run(
        [sys.executable, "-m", "grader", "verify"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
