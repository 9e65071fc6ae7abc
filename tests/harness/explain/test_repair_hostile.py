"""Submissions that resist being edited: they learn nothing, earn nothing and stay in bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from grader.core.assignment import Settings
from grader.core.verdict import Grade
from grader.intake.entry import Entry
from tests.harness.conftest import write_files
from tests.harness.grading_jobs import GradingJob
from tests.harness.marks import rest_slow

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[3]

START = """
import os, sys, time, torch

def helper(x, dim):
    shifted = x - x.amax(dim, keepdim=True)
    powers = shifted.exp()
    total = powers.sum(dim, keepdim=True)
    return powers / total * 1.5

AS_IT_WAS = helper.__code__

def is_edited():
    return helper.__code__ is not AS_IT_WAS

def run_softmax(in_features, dim):
    ways = dim
    if is_edited():
        ON_EDIT
    return helper(in_features, ways)
"""
RESISTING = {
    "ends its process": "os._exit(3)",
    "kills its process": "os.kill(os.getpid(), 9)",
    "loops": """while True:
            try:
                time.sleep(0.01)
            except BaseException:
                pass""",
    "prints what it is edited to": 'print("SEEN", helper.__code__.co_consts, flush=True)',
    "floods": 'sys.stdout.write("x" * (1 << 24))',
    "takes memory": "x = torch.ones(1 << 34)",
    "raises": "raise BaseException('no')",
    "changes the answers of others": "helper.__code__ = AS_IT_WAS",
    "exchanges what tries it": """import gc
        for one in gc.get_objects():
            if type(one).__name__ == "Outcomes":
                one.given[0, 0] = 99; one.tried = 10**9""",
    "answers what is right when it is edited": "return torch.softmax(in_features, dim)",
}


@pytest.fixture(scope="module")
def job() -> Iterator[GradingJob]:
    """A grading job of the attention assignment."""
    client = GradingJob(
        Settings(str(ROOT), 1, ("run_softmax",), "adapters.py", 60.0, 1024, "suite")
    )
    yield client
    client.close()


@pytest.fixture
def graded(job: GradingJob, tmp_path: Path) -> Callable[..., Grade]:
    """A function that grades a submission with code that reacts to an edit."""

    def grade(on_edit: str) -> Grade:
        text = START.replace("ON_EDIT", on_edit)
        folder = write_files(tmp_path / "submission", {"adapters.py": text})
        return job.grade(Entry("submission", folder), "hash")

    return grade


@pytest.mark.parametrize("way", rest_slow(RESISTING, 8))
def test_a_submission_that_resists_edits_changes_no_verdict(graded, way):
    """Every test of values still fails, and the explainer ends by its own bounds.

    The explainer gets far more time than usual, so that no other limit ends it first.
    """
    grade = graded(RESISTING[way])
    assert grade.unexplained is None
    values = [test for test in grade.tests if test.aspect == "values"]
    assert {str(test.status) for test in values} == {"failed"}
    assert {test.score for test in values} == {0.0}


def test_output_of_edited_programs_is_never_shown(graded):
    """A submission cannot pass on what it learns while it is edited."""
    grade = graded(RESISTING["prints what it is edited to"])
    assert "SEEN" not in grade.evidence.printed
    assert not any("SEEN" in (test.message or "") for test in grade.tests)


def test_a_program_that_any_edit_makes_right_gets_no_line(graded):
    """The program answers rightly because it is edited, which proves nothing about any line."""
    grade = graded(RESISTING["answers what is right when it is edited"])
    assert {test.where for test in grade.tests if test.status == "failed"} == {None}


def test_a_submission_without_resistance_gets_its_line(graded):
    """This control shows that the tests above can fail."""
    grade = graded("pass")
    lines = {test.where.line for test in grade.tests if test.where is not None}
    assert lines == {START.splitlines().index("    return powers / total * 1.5") + 1}
