"""The coordinator reads exactly the grade that a judge wrote."""

from __future__ import annotations

import contextlib
import json
import math

import pytest

from grader.core.assignment import Settings
from grader.core.verdict import Diagnosis, Grade, Measurement, Verdict, Where
from grader.grading.job.client import JobClient, JobLost
from grader.grading.options import Task
from grader.intake.entry import Entry
from tests.harness.conftest import RIGHT, write_files
from tests.harness.export_fixtures import a_grade, a_verdict

pytestmark = pytest.mark.unit

PASSED = a_verdict("run_rope", measurement=Measurement(0.0, 0.0, 1e-6, 1e-5, 0.1, 0, 12, (1, 3)))
FAILED = a_verdict(
    "run_mha",
    score=0.0,
    message="12 of 12 numbers are wrong",
    measurement=Measurement(math.inf, math.inf, 1e-6, 1e-5, math.inf, 12, 12),
    diagnosis=Diagnosis("mha-scale", "It does not scale.", "By what?"),
    where=Where("attention.py", 42, "scores"),
)


@pytest.mark.parametrize(
    "grade", [a_grade("alice", PASSED, FAILED, notes=("a note",)), a_grade("chen")]
)
def test_a_grade_is_read_back_exactly_as_written(grade: Grade) -> None:
    """Every field survives, also infinite numbers, which JSON does not have."""
    line = json.dumps(grade.as_json(whole=True), allow_nan=False)
    assert Grade.from_json(json.loads(line)) == grade


@pytest.mark.process
def test_a_judge_that_takes_the_place_of_a_lost_one_gives_the_same_verdicts(tiny, tmp_path):
    """The new judge is another process with the same seed."""
    folder = write_files(tmp_path / "submission", {"adapters.py": RIGHT})
    client = JobClient(Settings(str(tiny), 1, (), "adapters.py", 8.0, 512, "suite"))

    def verdicts() -> list[Verdict]:
        grade = client.grade(Task(Entry("submission", folder), 0, "hash", ""))
        return [test._replace(duration_s=0.0) for test in grade.tests]

    with contextlib.closing(client):
        before = verdicts()
        client.kill()
        with pytest.raises(JobLost):
            verdicts()
        assert [verdicts(), verdicts()] == [before, before]
