"""Repositories made for another course's tests are graded without changes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from grader import Grade, batch
from grader.core.verdict import GradeStatus
from tests.harness.marks import rest_slow
from tests.harness.repositories.building import REPOSITORIES, build

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[3]
COMMON = (
    "run_softmax",
    "run_scaled_dot_product_attention",
    "run_multihead_self_attention",
    "run_rope",
    "run_multihead_self_attention_with_rope",
)
ASSIGNMENTS = {
    "attention": (ROOT, COMMON),
    "language model": (ROOT / "examples" / "language_model", (*COMMON, "run_transformer_lm")),
}


@pytest.fixture(scope="module", params=rest_slow(ASSIGNMENTS, ["attention"]))
def graded(request, tmp_path_factory) -> Mapping[str, Grade]:
    """The grades of all ten repositories; only the path of their adapters is given."""
    assignment, exercises = ASSIGNMENTS[request.param]
    folder = tmp_path_factory.mktemp("repositories")
    for name in REPOSITORIES:
        build(name, folder / "class")
    found: dict[str, Grade] = {}
    batch(
        folder / "class",
        out=folder / "out",
        assignment=assignment,
        adapters="tests/adapters.py",
        exercises=exercises,
        jobs=1,
        explain=False,
        on_grade=lambda grade: found.update({grade.submission: grade}),
    )
    return found


@pytest.mark.parametrize("name", REPOSITORIES)
def test_a_repository_earns_full_marks_without_installation(graded, name):
    """An unused import of an absent package costs no points."""
    grade = graded[name]
    assert grade.status is GradeStatus.GRADED, grade.message
    wrong = [f"{test.id}: {test.message}" for test in grade.tests if test.score < test.max_score]
    assert not wrong, "\n".join(wrong)
