"""A judge says a grade in shorthand: its coordinator reads the very grade that was given."""

from __future__ import annotations

import contextlib
import json
import math
from typing import Any

import pytest

from grader.core.settings import Settings
from grader.core.verdict import Diagnosis, Grade, Measurement, Verdict, Where
from grader.grading.job.client import JobClient, JobLost
from grader.grading.job.shorthand import ShorthandReader, ShorthandWriter
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


@pytest.fixture
def writer() -> ShorthandWriter:
    return ShorthandWriter()


@pytest.fixture
def reader() -> ShorthandReader:
    return ShorthandReader()


def said(writer: ShorthandWriter, grade: Grade) -> dict[str, Any]:
    """What comes out of the pipe."""
    row: dict[str, Any] = json.loads(json.dumps(writer.written(grade), allow_nan=False))
    return row


def many(name: str, count: int) -> Grade:
    """A grade whose verdicts no other submission has."""
    return a_grade(name, *(a_verdict("run_rope", id=f"{name} {n}") for n in range(count)))


def test_a_verdict_that_was_said_before_is_said_as_a_number(writer):
    """In a class nearly all of them were: only how long a test took is another submission's."""
    assert len(said(writer, a_grade("alice", PASSED, FAILED))["tests"]["new"]) == 2
    slower = PASSED._replace(duration_s=0.5)
    tests = said(writer, a_grade("bob", slower, FAILED._replace(message="6 are wrong")))["tests"]
    assert [verdict["message"] for verdict in tests["new"]] == ["6 are wrong"]
    assert (tests["numbers"], tests["durations"]) == ([0, 2], [0.5, 0.25])


def test_what_is_read_is_the_grade_that_was_given(writer, reader):
    """To the last field, whether its verdicts were said before or not."""
    grades = [
        a_grade("alice", PASSED, FAILED, notes=("a note",)),
        a_grade("bob", FAILED, PASSED._replace(duration_s=0.5)),
        a_grade("chen"),
        a_grade("dana", PASSED, PASSED),
    ]
    assert [reader.read(said(writer, grade)) for grade in grades] == grades


def test_both_ends_begin_anew_together_before_they_remember_too_much(writer, reader):
    """Ten thousand submissions, each wrong in its own way, cost no more memory than some."""
    rows = []
    for name in ("alice", "bob", "chen", "alice"):
        grade = many(name, 3000)
        rows.append(said(writer, grade))
        assert reader.read(rows[-1]) == grade
    assert [row["tests"]["known"] for row in rows] == [0, 3000, 0, 3000]


@pytest.mark.process
def test_a_judge_that_takes_the_place_of_a_lost_one_begins_with_nothing(tiny, tmp_path):
    """It is another process: what the lost one said before, it never said."""
    folder = write_files(tmp_path / "submission", {"adapters.py": RIGHT})
    client = JobClient(Settings(str(tiny), 1, (), "adapters.py", 8.0, 512, "suite"))

    def verdicts() -> list[Verdict]:
        grade = client.grade(Entry("submission", folder), "hash")
        return [test._replace(duration_s=0.0) for test in grade.tests]

    with contextlib.closing(client):
        before = verdicts()
        client.kill()
        with pytest.raises(JobLost):
            verdicts()
        assert [verdicts(), verdicts()] == [before, before]


def test_a_line_that_was_left_out_is_noticed(writer, reader):
    """Numbers would stand for other verdicts: no grade is better than a wrong one."""
    said(writer, a_grade("alice", PASSED))
    with pytest.raises(ValueError, match="0 verdicts were said, the judge counts 1"):
        reader.read(said(writer, a_grade("bob", PASSED, FAILED)))
