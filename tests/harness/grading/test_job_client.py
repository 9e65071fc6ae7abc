"""The coordinator's end of a job: the lines that it sends, and what it makes of the answers."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from grader.core.assignment import BadAssignment, Settings
from grader.core.explanation import Told, Words
from grader.core.points import BY_HAND
from grader.core.text import written
from grader.core.verdict import Status
from grader.grading.job import client, lines
from grader.grading.job.client import JobClient, JobLost
from grader.grading.job.lines import JobProcess, NoJob
from grader.grading.options import Task
from grader.intake.entry import Entry
from tests.harness.export_fixtures import a_grade, a_verdict

pytestmark = pytest.mark.unit

ALICE = Entry("alice", Path("class/alice"))
TASK = Task(ALICE, 0, "hash", "key")
GRADE = a_grade("alice", a_verdict("run_rope"))
GREETING = {"collected": {"max_score": 5.0, "pid": 0}}
READY = {"ready": {"pid": 1 << 22}}
GRADED = {"grade": GRADE.as_json(whole=True)}
# No process has this id.
NOBODY = 1 << 22


class Job:
    """A job's ends of its two pipes, and its collector; what it says may wait to be read."""

    def __init__(self, code: int) -> None:
        (self.orders, order), (answer, self.answers) = os.pipe(), os.pipe()
        os.set_blocking(self.orders, False)
        self.code = code
        self.killed = 0
        self.process = JobProcess(self, order, answer)

    def says(self, *lines: dict[str, Any] | bytes) -> None:
        """Writes lines, or bytes as they are."""
        for line in lines:
            text = line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n"
            os.write(self.answers, text)

    def heard(self) -> list[dict[str, Any]]:
        """Returns the lines that came since the last time."""
        with contextlib.suppress(BlockingIOError):
            return [*map(json.loads, os.read(self.orders, 1 << 20).splitlines())]
        return []

    def hangs_up(self) -> None:
        """Closes both pipes, as the system does when a job ends."""
        self.stops_answering()
        if self.orders >= 0:
            os.close(self.orders)
        self.orders = -1

    def stops_answering(self) -> None:
        """Closes the pipe of its answers."""
        if self.answers >= 0:
            os.close(self.answers)
        self.answers = -1

    def kill(self) -> None:
        """Ends at once; this is the collector's part."""
        self.killed += 1
        self.hangs_up()

    def release(self) -> int:
        """Returns the collector's exit code."""
        return self.code


class Jobs:
    """Jobs that start when a client asks for some; the first says `lines` after its greeting."""

    def __init__(self) -> None:
        self.started: list[Job] = []
        self.counts: list[int] = []
        self.lines: list[dict[str, Any] | bytes] = []
        self.code = 0

    def start(self, _command: object, count: int) -> list[JobProcess]:
        self.counts.append(count)
        new = [Job(self.code) for _ in range(count)]
        for job in new:
            job.says(GREETING, *(self.lines or [READY, GRADED]))
            self.lines = []
        self.started += new
        return [job.process for job in new]


@pytest.fixture
def jobs(monkeypatch) -> Iterator[Jobs]:
    """The jobs that clients start; all hang up at the end."""
    own = Jobs()
    monkeypatch.setattr(client, "start_jobs", own.start)
    yield own
    for job in own.started:
        job.hangs_up()


def a_client(**settings: Any) -> JobClient:
    """Returns a client with these settings."""
    given = {"timeout": 1.0, "memory_mb": 64, "suite_hash": "suite", "explain_seconds": 20.0}
    return JobClient(Settings("course", 7, (), "adapters.py", **given | settings), 3)


def lost(do: Any) -> str:
    """Returns the text with which a job is lost."""
    with pytest.raises(JobLost) as raised:
        do()
    return str(raised.value)


# --- Grading ------------------------------------------------------------------------------------


def test_only_a_judge_learns_the_seed(jobs):
    """The process that explains is told all settings but the seed, and the number of tasks."""
    own = a_client()
    jobs.lines = [READY, GRADED, {"ended": 0}, READY, {"explained": None}]
    assert own.grade(TASK) == GRADE
    settings, judge, job = jobs.started[0].heard()
    assert (settings["seed"], settings["timeout"], settings["submissions"]) == (0, 1.0, 3)
    assert judge == {"be": "judge", "seed": 7}
    assert job == {"follow": False} | TASK.as_json()
    assert own.explain(ALICE, GRADE) == Words()
    leave, explainer, _ = jobs.started[0].heard()
    assert (leave, explainer) == ({"leave": True}, {"be": "explainer"})
    assert jobs.counts == [1]


def test_a_judge_that_is_ready_gets_the_next_submission_at_once(jobs):
    """One greeting and one order to be a judge are enough for a class."""
    own = a_client()
    jobs.lines = [READY, GRADED, GRADED]
    assert [own.grade(TASK), own.grade(TASK)] == [GRADE, GRADE]
    assert [next(iter(line)) for line in jobs.started[0].heard()[1:]] == ["be", "follow", "follow"]


def test_a_listener_gets_each_verdict_before_the_grade(jobs):
    """The job is told that somebody listens."""
    verdicts = [a_verdict("run_rope"), a_verdict("run_mha", 0.0, message="wrong")]
    jobs.lines = [READY, *({"verdict": written(one)} for one in verdicts), GRADED]
    told: list[Any] = []
    assert a_client().grade(TASK, told.append) == GRADE
    assert told == verdicts
    assert jobs.started[0].heard()[-1]["follow"] is True


def test_the_process_id_of_a_job_comes_with_its_greeting(jobs, monkeypatch):
    """With it, one job can be killed without the others."""
    monkeypatch.setitem(GREETING["collected"], "pid", NOBODY)
    a_client().grade(TASK)
    assert jobs.started[0].process.pid == NOBODY


UNREAD = "the judge was lost: its grade cannot be read (data is not of the kind that it must be)"


@pytest.mark.parametrize(
    ("lines", "code", "said"),
    [
        ([READY, {"ended": -9}], 0, "the judge was lost: it ended (SIGKILL)"),
        ([READY, {"ended": 3}], 0, "the judge was lost: it ended (exit code 3)"),
        ([{"ended": 1}], 0, "the judge was lost: it ended (exit code 1)"),
        ([READY, {"gone": 1}], 0, "the judge was lost: it ended (exit code 1)"),
        ([READY, {"gone": 0}], 5, "the judge was lost: it ended (exit code 5)"),
        ([READY, {"gone": 0}], 0, "the judge was lost: it ended"),
        ([{"gone": -15}], 0, "the job was lost: it ended (SIGTERM)"),
        ([READY, {"grade": {"status": "?"}}], 0, UNREAD),
    ],
)
def test_a_lost_judge_is_reported_with_its_end(jobs, lines, code, said):
    """The next submission gets a new judge: of the same job, if only the judge was lost."""
    own, jobs.lines, jobs.code = a_client(), lines, code
    assert lost(lambda: own.grade(TASK)) == said
    is_the_judge = "ended" in lines[-1]
    assert jobs.started[0].killed == (not is_the_judge)
    if is_the_judge:
        jobs.started[0].says(READY, GRADED)
    assert own.grade(TASK) == GRADE
    assert len(jobs.started) == (1 if is_the_judge else 2)


def test_a_job_that_the_machine_cannot_start_is_lost(monkeypatch):
    """Its submission is not graded, and the batch goes on."""
    full = BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")
    monkeypatch.setattr(lines, "Collector", Mock(side_effect=full))
    said = "no job starts on this machine (Resource temporarily unavailable): grade with fewer"
    assert lost(lambda: a_client().grade(TASK)) == f"{said} --jobs"
    before = [*Path("/proc/self/fd").iterdir()]
    with pytest.raises(NoJob):
        JobClient.several(a_client()._settings, 2, 3)
    assert len([*Path("/proc/self/fd").iterdir()]) == len(before)


def test_a_job_that_hangs_up_is_lost(jobs):
    """It is lost while it is read from, and while it is written to."""
    own = a_client()
    own.grade(TASK)
    jobs.started[0].stops_answering()
    assert lost(lambda: own.grade(TASK)) == "the judge was lost: it ended"
    own.grade(TASK)
    jobs.started[1].hangs_up()
    assert lost(lambda: own.grade(TASK)) == "the judge was lost: it does not listen (Broken pipe)"


def test_a_judge_that_is_silent_or_endless_is_lost(jobs, monkeypatch):
    """The seconds are a multiple of the submission's own, and some for the judge's work."""
    monkeypatch.setattr(client, "OWN_SECONDS", 0.0)
    own, jobs.lines = a_client(timeout=0.0), [READY]
    assert lost(lambda: own.grade(TASK)) == "the judge was lost: it did not answer within 0 seconds"
    monkeypatch.setattr(client, "_LONGEST_LINE", 9)
    jobs.lines = [READY, b"0123456789"]
    assert "its answer is too long" in lost(lambda: own.grade(TASK))
    monkeypatch.undo()


def test_a_line_that_was_cut_off_is_passed_over(jobs):
    """A judge may be killed in the midst of a line; its job ends the line."""
    own, jobs.lines = a_client(), [READY, b'{"grade": {"sub', b"\n", GRADED]
    assert own.grade(TASK) == GRADE


def test_an_assignment_that_cannot_be_used_stops_the_command(jobs):
    """The job has ended by itself and is only closed."""
    jobs.lines = [READY, {"stopped": "there are no tests"}]
    (own,) = JobClient.several(a_client()._settings, 1, 1)
    jobs.started[0].stops_answering()
    with pytest.raises(BadAssignment, match="there are no tests"):
        own.explain(ALICE, GRADE)
    assert own._process is None


# --- Explaining ---------------------------------------------------------------------------------

UNEXPLAINED = a_grade(
    "alice",
    a_verdict("run_rope", message="passed\nwith a note"),
    a_verdict("run_mha", 0.0, message=f"wrong\nexplained before\nIt uses x, {BY_HAND}"),
    a_verdict("run_a", 0.0, status=Status.TIMEOUT, message="too slow"),
    a_verdict("run_b", 0.0, status=Status.CRASHED, message="killed"),
    a_verdict("run_c", 0.0, status=Status.MISSING),
)
FEW, MORE = Words(message="few"), Words({"test": Told("why")}, message="more")


def ids(exercise: str) -> str:
    return f"tests/hidden/test_{exercise}.py::test_values"


def test_an_explainer_gets_what_only_the_judge_knows(jobs):
    """That is remarks on forbidden names, and the messages of tests whose worker was lost."""
    own, jobs.lines = a_client(), [READY, *map(told, (FEW, MORE)), {"explained": None}]
    assert own.explain(ALICE, UNEXPLAINED) == MORE
    *_, job = jobs.started[0].heard()
    assert job["remarks"] == {ids("run_mha"): f"It uses x, {BY_HAND}"}
    assert job["lost"] == {ids("run_a"): "too slow", ids("run_b"): "killed"}
    assert job["statuses"][ids("run_c")] == "missing"
    assert (len(job["statuses"]), job["status"], job["message"]) == (5, "graded", None)


def told(words: Words) -> dict[str, Any]:
    return {"words": words.as_json()}


@pytest.mark.parametrize(
    ("lines", "missing"),
    [
        ([{"ended": -9}], "the explainer was lost: it ended (SIGKILL)"),
        ([{"gone": 2}], "the explainer was lost: it ended (exit code 2)"),
        ([{"words": {"tests": {}}}], "the explanation is damaged (KeyError)"),
        ([{"words": 7}], "the explanation is damaged (TypeError)"),
    ],
)
def test_words_that_came_before_an_explainer_was_lost_are_kept(jobs, lines, missing):
    """The grade stands, and says why the rest is missing."""
    own, jobs.lines = a_client(), [READY, told(FEW), *lines]
    assert own.explain(ALICE, GRADE) == Words(message="few", missing=missing)
    is_the_explainer = "ended" in lines[-1]
    assert jobs.started[0].killed == (not is_the_explainer)


def test_a_late_explainer_is_killed_alone(jobs, monkeypatch):
    """Its job stays, and its next order is answered."""
    killed: list[tuple[int, int]] = []

    def kill(pid: int, number: int) -> None:
        killed.append((pid, number))
        jobs.started[0].says(b"half a li", b"\n", {"ended": -9})

    monkeypatch.setattr(client.os, "kill", kill)
    monkeypatch.setattr(client, "_GRACE_SECONDS", 0.0)
    own, jobs.lines = a_client(explain_seconds=0.001), [READY, told(FEW)]
    late = "the explainer took longer than 0.003 seconds and was stopped"
    assert own.explain(ALICE, GRADE) == Words(message="few", missing=late)
    assert killed == [(NOBODY, signal.SIGKILL)]
    jobs.started[0].says(READY, GRADED)
    assert own.grade(TASK) == GRADE
    assert jobs.counts == [1]


# --- Starting and ending ------------------------------------------------------------------------


def test_several_jobs_share_one_collection(jobs):
    """Only the first is told the settings."""
    settings = a_client()._settings
    two = JobClient.several(settings, 2, 9)
    assert jobs.counts == [2]
    assert [own._process for own in two] == [job.process for job in jobs.started]
    assert [[line["submissions"] for line in job.heard()] for job in jobs.started] == [[9], []]


def test_a_closed_job_is_started_again_when_it_is_needed(jobs):
    """A second end, or the kill of a job that is not there, does nothing."""
    own = a_client()
    own.kill()
    own.grade(TASK)
    jobs.started[0].hangs_up()
    own.close()
    own.close()
    own.kill()
    assert jobs.started[0].killed == 0
    own.grade(TASK)
    own.kill()
    assert [job.killed for job in jobs.started] == [0, 1]
