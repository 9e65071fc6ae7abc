"""The coordinator's queues and pool of jobs, with jobs that answer without a process."""

from __future__ import annotations

import dataclasses
import queue
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from grader.core.assignment import BadAssignment, Settings, find_assignment
from grader.core.explanation import PENDING, Words
from grader.core.verdict import Grade, GradeStatus
from grader.grading import coordinator
from grader.grading.coordinator import Coordinator, TaskQueue, grade_with_retry, graded_alone
from grader.grading.job.client import JobClient, JobLost
from grader.grading.options import Explained, ExplanationTask, GradedTask, Options, Task
from grader.intake.entry import Entry
from tests.harness.conftest import RIGHT, write_files
from tests.harness.export_fixtures import a_grade, a_verdict

pytestmark = pytest.mark.unit

SETTINGS = Settings("course", 7, (), "adapters.py", 1.0, 64, "suite")


def task_of(name: str) -> Task:
    """Returns the task to grade a submission of that name."""
    return Task(Entry(name, Path(name)), 0, "hash", "key")


def question_on(name: str, verdicts: bytes = b"") -> ExplanationTask:
    """Returns the task to explain a grade."""
    return ExplanationTask(Entry(name, Path(name)), lambda: a_grade(name), verdicts)


class AnsweringJob:
    """A job without a process: grades at once, after it was lost `lost` times."""

    def __init__(self, lost: int = 0, tests: tuple[Any, ...] = ()) -> None:
        self.lost, self.tests = lost, tests
        self.asked: list[str] = []
        self.killed = self.closed = 0

    def grade(self, task: Task, follow: Any = None) -> Grade:
        self.asked.append(task.entry.name)
        if len(self.asked) <= self.lost:
            raise JobLost(f"the judge was lost: number {len(self.asked)}")
        if task.entry.name == "broken":
            raise BadAssignment("the tests cannot be run")
        if follow is not None:
            follow(task.entry.name)
        return a_grade(task.entry.name, *self.tests)

    def explain(self, entry: Entry, grade: Grade) -> Words:
        return Words(message=f"about {entry.name}, {grade.submission}")

    def kill(self) -> None:
        self.killed += 1

    def close(self) -> None:
        self.closed += 1


class Starting:
    """Starts the given jobs, and notes with which numbers; further ones are made."""

    def __init__(self) -> None:
        self.calls: list[tuple[int, int, Any]] = []
        self.jobs: list[AnsweringJob] = []

    def several(self, _: Settings, count: int, submissions: int) -> list[Any]:
        self.calls.append((count, submissions))
        return [self.jobs.pop(0) if self.jobs else AnsweringJob() for _ in range(count)]


@pytest.fixture
def starting(monkeypatch) -> Starting:
    """The start of jobs, without processes."""
    own = Starting()
    monkeypatch.setattr(JobClient, "several", own.several)
    return own


@pytest.mark.parametrize(
    ("lost", "stops", "asked", "status", "message"),
    [
        (0, False, 1, GradeStatus.GRADED, None),
        (1, False, 2, GradeStatus.GRADED, None),
        (2, False, 2, GradeStatus.NOT_GRADED, "the judge was lost: number 2"),
        (1, True, 1, GradeStatus.NOT_GRADED, "the judge was lost: number 1"),
    ],
)
def test_a_submission_is_tried_once_more_after_its_judge_is_lost(
    lost, stops, asked, status, message
):
    """A second loss makes it not graded; a batch that stops tries nothing again."""
    job, stopping = AnsweringJob(lost), threading.Event()
    if stops:
        stopping.set()
    grade = grade_with_retry(job, task_of("alice"), SETTINGS, stopping)
    assert (len(job.asked), grade.status, grade.message) == (asked, status, message)
    assert (grade.submission, grade.submission_hash == "hash") == ("alice", message is not None)


# --- Explanations in groups ---------------------------------------------------------------------


def test_explainers_begin_with_the_largest_group_and_stay_with_it():
    """A second explainer takes another group, and helps when no group is left to begin."""
    names = {b"few": "ab", b"many": "cdef", b"one": "g"}
    waiting = TaskQueue(
        question_on(name, verdicts) for verdicts, own in names.items() for name in own
    )

    def taken(explainer: str) -> str:
        return waiting.take(explainer).entry.name

    assert [taken("first"), taken("first")] == ["c", "d"]
    assert [taken("second"), taken("second")] == ["a", "b"]
    assert taken("second") == "g", "a group that nobody began comes before one in progress"
    assert taken("second") == "e", "it helps"
    assert taken("first") == "f"
    with pytest.raises(KeyError):
        waiting.take("first")


# --- The pool -----------------------------------------------------------------------------------


def test_every_submission_gets_its_grade_and_its_words(starting):
    """Jobs are closed at the end, and none is killed."""
    jobs = starting.jobs[:] = [AnsweringJob(), AnsweringJob()]
    followed: list[Any] = []
    with Coordinator(SETTINGS, 2, followed.append) as pool:
        graded = [*pool.grade([task_of(name) for name in "abc"])]
        explained = [*pool.explain([question_on(name) for name in "ab"])]
    assert {type(one) for one in graded} == {GradedTask}
    assert sorted(one.grade.submission for one in graded) == ["a", "b", "c"]
    assert all(one.task.entry.name == one.grade.submission for one in graded)
    assert sorted(followed) == ["a", "b", "c"]
    assert {type(one) for one in explained} == {Explained}
    told = {one.task.entry.name: one.words.message for one in explained}
    assert told == {"a": "about a, a", "b": "about b, b"}
    assert [(job.killed, job.closed) for job in jobs] == [(0, 1), (0, 1)]
    assert pool._begun == {}


@pytest.mark.parametrize(
    ("jobs", "classes", "counts"), [(3, [2, 9, 9], [2, 1]), (2, [1, 1], [1]), (1, [5], [1])]
)
def test_no_more_jobs_start_than_there_are_submissions(starting, jobs, classes, counts):
    """Later classes start the rest; an idle job would only cost memory."""
    with Coordinator(SETTINGS, jobs) as pool:
        for submissions in classes:
            pool.start(submissions)
    assert [count for count, _ in starting.calls] == counts
    assert starting.calls[0][1] == classes[0]


def test_an_assignment_that_cannot_be_used_stops_the_batch(starting):
    """The reader gets the exception, and the jobs are killed, not left to finish."""
    (job,) = starting.jobs[:] = [AnsweringJob()]
    with pytest.raises(BadAssignment, match="cannot be run"), Coordinator(SETTINGS, 1) as pool:
        [*pool.grade([task_of("broken")])]
    assert (job.killed, job.closed) == (1, 1)


def test_a_batch_that_is_interrupted_begins_no_other_submission(starting):
    """Its jobs are killed, and what still waits is left alone."""
    (job,) = starting.jobs[:] = [AnsweringJob()]
    begun, killed = threading.Event(), threading.Event()
    job.kill = killed.set

    def grade(task: Task, _: Any) -> Grade:
        job.asked.append(task.entry.name)
        if task.entry.name != "a":
            begun.set()
            killed.wait()
        return a_grade(task.entry.name)

    def interrupted() -> None:
        with Coordinator(SETTINGS, 1) as pool:
            next(pool.grade([task_of(name) for name in "abc"]))
            begun.wait()
            raise KeyboardInterrupt

    job.grade = grade
    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert job.asked == ["a", "b"]


def test_a_long_silence_is_broken_by_the_names_of_the_submissions_at_work(starting):
    """The sentence comes again after twice the time, as long as nothing arrives."""
    told: list[str] = []
    told_enough = threading.Event()

    def say(sentence: str) -> None:
        told.append(sentence)
        if len(told) == 2:
            told_enough.set()

    (job,) = starting.jobs[:] = [AnsweringJob()]
    job.grade = lambda task, _=None: told_enough.wait() and a_grade(task.entry.name)
    with Coordinator(SETTINGS, 1, None, say, 0.01) as pool:
        (graded,) = pool.grade([task_of("alice\x1b[2J")])
    assert graded.grade.submission == "alice\x1b[2J"
    assert told == ["still waiting for alice (0 s)"] * 2


def test_submissions_at_work_are_listed_from_the_longest(monkeypatch):
    """Those that began a moment ago are left out."""
    pool = Coordinator(SETTINGS, 1, silent_seconds=10.0)
    pool._begun = {"new": 91.0, "short": 90.0, "long": 20.0}
    monkeypatch.setattr(coordinator.time, "monotonic", lambda: 100.0)
    assert pool._waited() == "long (80 s), short (10 s)"


def test_each_silence_is_twice_as_long_as_the_last():
    """A quiet batch of hours must not fill the terminal."""
    waits: list[float] = []

    def get(timeout: float) -> str:
        waits.append(timeout)
        if len(waits) < 4:
            raise queue.Empty
        return "arrived"

    told: list[str] = []
    pool = Coordinator(SETTINGS, 1, say=told.append, silent_seconds=10.0)
    assert pool._next(SimpleNamespace(get=get)) == "arrived"
    assert waits == [10.0, 20.0, 40.0, 80.0]
    assert told == [], "nothing is at work"


# --- One submission -----------------------------------------------------------------------------

FAILED = a_verdict("run_double", 0.0)


@pytest.mark.parametrize(
    ("tests", "explain", "message", "unexplained"),
    [
        ((FAILED,), True, "about alice, alice", None),
        ((FAILED,), False, None, PENDING),
        ((a_verdict("run_double"),), True, None, None),
    ],
)
def test_a_single_submission_is_explained_if_it_needs_words(
    starting, tiny, tmp_path, tests, explain, message, unexplained
):
    """A full score needs none; `--no-explain` leaves them for later."""
    folder = write_files(tmp_path / "alice", {"adapters.py": RIGHT})
    assignment, options = find_assignment(tiny), Options(seed=7)
    starting.jobs.append(AnsweringJob(tests=tests))
    grade = graded_alone(Entry("alice", folder), assignment, options, explain=explain)
    assert starting.calls == [(1, 1)]
    assert (grade.message, grade.unexplained) == (message, unexplained)
    assert dataclasses.replace(grade, suite_hash="").tests == tests


def test_a_device_other_than_the_processor_has_one_job(starting):
    """Two submissions would share the memory and the time of one GPU."""
    starting.jobs.append(AnsweringJob())
    with Coordinator(dataclasses.replace(SETTINGS, device="cuda"), 3) as pool:
        assert len([*pool.grade([task_of(name) for name in "abc"])]) == 3
    assert starting.calls == [(1, 3)]
