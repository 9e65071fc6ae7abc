"""Verdicts reach a listener one by one while a submission is graded."""

import pytest

from grader.intake.entry import Entry
from tests.harness.conftest import RIGHT, write_files

pytestmark = pytest.mark.process

TRIPLED = "def run_double(x):\n    return 3 * x\n\ndef run_count(x):\n    return 0\n"


def test_a_listener_gets_each_verdict_once_and_in_order(judge, tmp_path):
    """The verdicts equal the grade's, except for the diagnosis, which needs all answers."""
    submission = write_files(tmp_path / "submission", {"adapters.py": TRIPLED})
    told = []
    grade = judge.grade(Entry("submission", submission), "hash", told.append)
    assert any(verdict.diagnosis for verdict in grade.tests)
    assert not any(verdict.diagnosis for verdict in told)
    in_short = [[(v.id, v.status, v.score) for v in verdicts] for verdicts in (told, grade.tests)]
    assert in_short[0] == in_short[1]


def test_a_listener_gets_no_verdict_of_an_unreadable_submission(judge, tmp_path):
    """No test ran, so the listener gets no verdict."""
    submission = write_files(tmp_path / "submission", {"adapters.py": "def run_double(:\n"})
    told = []
    grade = judge.grade(Entry("submission", submission), "hash", told.append)
    assert grade.status == "unreadable"
    assert told == []


def test_grading_works_without_a_listener(judge, tmp_path):
    """A batch grades without a listener. A listener gets the verdicts of one submission only."""
    submission = write_files(tmp_path / "submission", {"adapters.py": RIGHT})
    told = []
    followed = judge.grade(Entry("submission", submission), "hash", told.append)
    alone = judge.grade(Entry("submission", submission), "hash")
    assert len(told) == len(alone.tests)
    assert alone.score == followed.score == 5.0
