"""The data that travels to other machines: requests, replies, the assignment, versions."""

from __future__ import annotations

import dataclasses
import json
import pickle
from pathlib import Path

import pytest

import grader
from grader.core.assignment import Settings, find_assignment
from grader.core.explanation import Words
from grader.grading.cluster import bundle
from grader.grading.cluster.bundle import (
    BadReply,
    RemoteRequest,
    difference,
    packed_assignment,
    packed_reply,
    result_in,
    unpacked_assignment,
    unpacked_reply,
    versions,
)
from grader.grading.options import AnyTask, Explained, ExplanationTask, Options, Task
from grader.intake.entry import Entry
from grader.intake.handed_in import SubmissionPackage
from tests.harness.conftest import TINY, write_files
from tests.harness.export_fixtures import a_grade, a_verdict

pytestmark = pytest.mark.unit

HERE, THERE = Entry("alice", Path("class/alice")), Entry("alice", Path("scratch/alice"))
PACKAGE = SubmissionPackage("alice.zip", True, b"\x00\xff", ("a link was left out",), "")
GRADE = a_grade("alice", a_verdict("run_rope", 0.0, message="wrong"))


def travelled(task: AnyTask) -> RemoteRequest:
    """Returns the request for a task as it arrives."""
    return pickle.loads(pickle.dumps(RemoteRequest.of(task, PACKAGE)))


def test_a_task_travels_with_the_bytes_of_its_submission():
    """There the submission lies elsewhere; the rest of the task is the same."""
    task = Task(HERE, 0, "hash", "")
    request = travelled(task)
    assert (request.name, request.package) == ("alice", PACKAGE)
    assert request.task_for(THERE) == dataclasses.replace(task, entry=THERE)


def test_a_grade_travels_to_be_explained():
    """The explainer gets the whole grade, notes included."""
    noted = dataclasses.replace(GRADE, notes=("a note",))
    task = travelled(ExplanationTask(HERE, lambda: noted)).task_for(THERE)
    assert isinstance(task, ExplanationTask)
    assert (task.entry, task.grade()) == (THERE, noted)


# --- Replies ------------------------------------------------------------------------------------


def test_a_reply_is_read_as_it_was_packed():
    """Replies are compressed."""
    reply = {"failed": "x" * 9999}
    assert unpacked_reply(packed_reply(reply)) == reply
    assert len(packed_reply(reply)) < 999


def test_words_come_back_for_their_question():
    question = ExplanationTask(HERE, lambda: GRADE)
    words = Words(message="why")
    assert result_in({"words": words.as_json()}, question) == Explained(question, words)
    with pytest.raises(BadReply, match="holds no grade"):
        result_in({"grade": GRADE.as_json(whole=True)}, question)


@pytest.mark.parametrize("reply", [{"stopped": "no tests"}, {"failed": "no room", "grade": 1}])
def test_a_reply_that_says_why_there_is_no_result_is_no_result(reply):
    assert result_in(reply, Task(HERE, 0, "hash", "")) is None


def test_the_size_of_a_reply_is_bounded(monkeypatch):
    """A reply of exactly the largest size is still read."""
    reply = {"a": "b"}
    monkeypatch.setattr(bundle, "_LARGEST_REPLY", len(json.dumps(reply)))
    assert unpacked_reply(packed_reply(reply)) == reply
    with pytest.raises(BadReply, match="too large or cut off"):
        unpacked_reply(packed_reply(reply | {"c": 1}))


# --- The assignment -----------------------------------------------------------------------------


def test_an_assignment_arrives_with_all_that_its_grades_depend_on(tmp_path):
    """Other files stay at home; hashes, and so the suite, come out the same."""
    files = TINY | {"notes/salaries.txt": "secret", "solutions/__pycache__/x.pyc": "compiled"}
    assignment = find_assignment(write_files(tmp_path / "course", files))
    here = Options(seed=7, timeout=3.5).settings(assignment)
    packed = packed_assignment(assignment)
    there = unpacked_assignment(packed, tmp_path / "there", here)
    found = {path.relative_to(tmp_path / "there").as_posix() for path in _files(tmp_path / "there")}
    assert found == {*TINY}
    for name in TINY:
        assert (tmp_path / "there" / name).read_bytes() == (assignment.root / name).read_bytes()
    assert there == dataclasses.replace(
        here, assignment=str(tmp_path / "there"), reuses_seed=there.reuses_seed
    )


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


# --- Versions -----------------------------------------------------------------------------------

SETTINGS = Settings("course", 7, (), "adapters.py", 1.0, 64, "c0de")


def test_another_machine_must_have_the_same_versions_and_files():
    """The words name what differs; files of one version may differ too."""
    here = versions(SETTINGS)
    assert [*here] == ["grader", "torch", "Python", "suite"]
    assert (here["grader"], here["suite"]) == (grader.__version__, "c0de")
    assert difference(here, here) == ""
    assert difference(here | {"suite": "other"}, here) == (
        f"the files of its grader {grader.__version__} are not the same as here"
    )
    older = here | {"grader": "0.1", "suite": "other"}
    del older["torch"]
    assert difference(older, here) == (
        f"it has grader 0.1 and not {grader.__version__}, torch unknown and not {here['torch']}"
    )
