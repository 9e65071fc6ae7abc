"""Whole submissions: the example class, the seeds' mistakes, the references, the stubs."""

import shutil
import tomllib
from pathlib import Path

import pytest

from grader.core.verdict import Grade
from grader.reports.standing import standings
from grader.results.store import Store
from tests.harness.marks import asked_for, rest_slow

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[3]
SEEDS = Path(__file__).parents[1] / "submissions" / "seeds"
EXPECTATIONS = {
    name: expected
    for file in (ROOT / "examples" / "expected.toml", SEEDS / "expected.toml")
    for name, expected in tomllib.loads(file.read_text()).items()
}


@pytest.fixture(scope="module")
def grades(request, grader, tmp_path_factory) -> dict[str, Grade]:
    """The grades of all submissions that these tests use, from one batch, by name."""
    others, out = tmp_path_factory.mktemp("others"), tmp_path_factory.mktemp("results")
    shutil.copytree(ROOT / "solutions", others / "references" / "model_answers")
    (others / "references" / "adapters.py").write_text("from model_answers import *\n")
    stage_half_precision(others / "half-precision")
    (others / "stubs").mkdir()
    shutil.copy(ROOT / "adapters.py", others / "stubs")
    shutil.copytree(ROOT / "assignment", others / "stubs" / "assignment")
    chosen = tmp_path_factory.mktemp("chosen")
    for name in asked_for(request, "name"):
        for folder in (ROOT / "examples" / "class", SEEDS):
            for entry in folder.glob(f"{name}*"):
                copy = shutil.copytree if entry.is_dir() else shutil.copy
                copy(entry, chosen / entry.name)
    done = grader("batch", chosen, others, "--no-explain", "--out", out)
    assert done.returncode == 0, done.stderr
    return {grade.submission: grade for grade in Store.read(out).grades()}


def stage_half_precision(folder: Path) -> None:
    """Writes a right submission, except that its softmax computes in float16."""
    shutil.copytree(ROOT / "examples" / "class" / "alice-jones", folder)
    module = folder / "attention.py"
    exact = "    e = torch.exp(x)\n"
    text = module.read_text()
    assert exact in text
    module.write_text(text.replace(exact, "    e = torch.exp(x.half()).to(x.dtype)\n"))


@pytest.mark.parametrize("name", rest_slow(EXPECTATIONS, 8))
def test_a_submission_gets_the_expected_standing_in_each_exercise(grades, name):
    """A wrong submission fails exactly the exercises that are wrong."""
    grade, expected = grades[name], EXPECTATIONS[name]
    assert grade.status == expected["status"]
    if grade.status == "unreadable":
        assert grade.score == 0
        assert all(text in grade.message for text in expected["mentions"])
        return
    got = {one.exercise: str(one.standing) for one in standings(grade)}
    wanted = dict.fromkeys(got, expected["exercises"]) | expected.get("except", {})
    assert got == wanted


def test_the_references_get_full_marks(grades):
    """The tests demand nothing that the model answers do not do."""
    assert grades["references"].score == grades["references"].max_score == 100.0


def test_the_stubs_get_nothing_and_every_exercise_is_missing(grades):
    """The students' starting point is `missing`: neither wrong nor an error."""
    assert grades["stubs"].score == 0
    assert {str(verdict.status) for verdict in grades["stubs"].tests} == {"missing"}


def test_exercises_that_build_on_a_half_precision_softmax_fail(grades):
    """Tolerances allow another order of summation, but not the loss of half the digits."""
    got = {one.exercise: str(one.standing) for one in standings(grades["half-precision"])}
    assert got.pop("run_softmax") == "failed"
    assert got.pop("run_scaled_dot_product_attention") == "failed"
    assert got.pop("run_multihead_self_attention_with_rope") == "failed"
    assert got["run_rope"] == "full"


def test_every_right_submission_is_far_within_the_tolerances(grades):
    """Right answers stay below three quarters of the tolerance."""
    right = [grade for grade in grades.values() if grade.score == grade.max_score]
    assert len(right) >= 2
    ratios = [v.measurement.error_over_tolerance for g in right for v in g.tests if v.measurement]
    assert max(ratios) < 0.75


def test_every_message_is_free_of_the_machine_s_paths(grades):
    """Students read the feedback, and need not know where the grader is installed."""
    for grade in grades.values():
        for verdict in grade.tests:
            assert str(ROOT) not in (verdict.message or "")
            assert "/tmp/" not in (verdict.message or ""), verdict.message


def test_no_message_of_a_hidden_test_shows_an_expected_value(grades):
    """A message may say how large the error is, but not which value was expected."""
    for grade in grades.values():
        for verdict in grade.tests:
            if verdict.visibility == "hidden" and verdict.measurement is not None:
                assert "tensor(" not in (verdict.message or "")
