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
    results = grader.batch(ROOT / "class", tmp_path_factory.mktemp("results"), assignment=ROOT)
    return {grade.submission: grade for grade in results.grades()}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_submission_gets_what_it_deserves(grades, name):
    """The standing of each exercise, the mistakes that are named, and no others."""
    grade, expected = grades[name], EXPECTED[name]
    assert grade.status == expected["status"]
    assert grade.score == pytest.approx(expected.get("score", grade.score))
    assert all(text in (grade.message or "") for text in expected.get("mentions", ()))
    if grade.status is grader.GradeStatus.UNREADABLE:
        return
    got = {one.exercise: str(one.standing) for one in standings(grade)}
    assert got == dict.fromkeys(got, expected["exercises"]) | expected.get("except", {})
    named = {test.exercise: test.diagnosis.mistake for test in grade.tests if test.diagnosis}
    assert named == expected.get("mistakes", {})


DELEGATING = """
import torch

def run_layer_norm(in_features, weight, bias, eps):
    return torch.layer_norm(in_features, weight.shape, weight, bias, eps)

def run_rms_norm(in_features, weight, eps):
    return torch.rms_norm(in_features, weight.shape, weight, eps)

def run_silu(in_features):
    return torch._C._nn.silu(in_features)
"""


def test_torchs_own_functions_cost_half_under_other_names_too(tmp_path):
    """The operations are forbidden as well as the functions that students know."""
    (tmp_path / "adapters.py").write_text(DELEGATING)
    grade = grader.grade(tmp_path, assignment=ROOT, explain=False)
    assert grade.score == pytest.approx(30)


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
