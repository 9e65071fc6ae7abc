"""A Dask worker's part of a batch, with jobs that answer without a process."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from grader.core.assignment import BadAssignment, Settings, find_assignment
from grader.core.explanation import Words
from grader.core.verdict import Grade, GradeStatus
from grader.grading.cluster import remote_worker
from grader.grading.cluster.bundle import (
    RemoteRequest,
    packed_assignment,
    unpacked_reply,
    versions,
)
from grader.grading.cluster.remote_worker import (
    RemoteWorker,
    close_remote_worker,
    open_remote_worker,
    run_request,
)
from grader.grading.job.client import JobClient, JobLost
from grader.grading.options import (
    AnyTask,
    ExplanationTask,
    NotIsolated,
    Options,
    Task,
)
from grader.intake.entry import Entry
from grader.intake.handed_in import pack
from tests.harness.conftest import RIGHT, write_files
from tests.harness.export_fixtures import a_grade
from tests.harness.waiting import until

pytestmark = pytest.mark.unit

SETTINGS = Settings("course", 7, (), "adapters.py", 1.0, 64, "suite")


class AnsweringJob:
    """A job without a process, which notes what becomes of it."""

    made: list[AnsweringJob]

    def __init__(self, submissions: int) -> None:
        self.made.append(self)
        self.submissions = submissions
        self.files: list[str] = []
        self.is_grading = threading.Event()
        self.killed = threading.Event()
        self.closed = 0

    def grade(self, task: Task, _follow: Any = None) -> Grade:
        self.is_grading.set()
        name = task.entry.name
        if name == "broken":
            raise BadAssignment("the tests cannot be run")
        if name == "slow":
            self.killed.wait()
            raise JobLost("the judge was lost: it was killed")
        self.files += [path.name for path in Path(task.entry.path).iterdir()]
        return a_grade(name)

    def explain(self, entry: Entry, grade: Grade) -> Words:
        return Words(message=f"about {entry.name}, {grade.submission}")

    def kill(self) -> None:
        self.killed.set()

    def close(self) -> None:
        self.closed += 1


@pytest.fixture(autouse=True)
def made(monkeypatch) -> list[AnsweringJob]:
    """The jobs that were made."""
    monkeypatch.setattr(AnsweringJob, "made", [], raising=False)
    monkeypatch.setattr(
        JobClient,
        "several",
        lambda _, count, submissions: [AnsweringJob(submissions) for _ in range(count)],
    )
    return AnsweringJob.made


def request_for(task: AnyTask) -> RemoteRequest:
    """Returns the request for a task."""
    return RemoteRequest.of(task, pack(task.entry))


def task_of(folder: Path, name: str = "alice") -> Task:
    """Returns the task to grade a submission of that name in a folder."""
    place = write_files(folder / name, {"adapters.py": RIGHT})
    return Task(Entry(name, place), 0, "hash", "")


# --- Remote workers -----------------------------------------------------------------------------


@pytest.fixture
def disk(tmp_path) -> Path:
    """The folder of a remote worker."""
    folder = tmp_path / "disk"
    folder.mkdir()
    return folder


def test_a_remote_worker_answers_requests_and_keeps_no_file(tmp_path, disk, made):
    """A reply holds the grade, the words, or why the batch must stop."""
    worker = RemoteWorker(disk, SETTINGS, 2)
    task = task_of(tmp_path)
    assert worker.run(request_for(task)) == {"grade": a_grade("alice").as_json(whole=True)}
    question = ExplanationTask(task.entry, lambda: a_grade("alice"))
    words = Words(message="about alice, alice")
    assert worker.run(request_for(question)) == {"words": words.as_json()}
    broken = request_for(task_of(tmp_path, "broken"))
    assert worker.run(broken) == {"stopped": "the tests cannot be run"}
    assert worker.run(request_for(task)) == {"grade": a_grade("alice").as_json(whole=True)}
    assert [name for job in made for name in job.files] == ["adapters.py"] * 2
    assert [*disk.iterdir()] == []
    asyncio.run(worker.teardown(None))
    assert not disk.exists()
    assert [(job.closed, job.submissions) for job in made] == [(1, 1000)] * 2


def test_a_remote_worker_closes_even_during_a_submission(tmp_path, disk, made):
    """That submission is not tried again, and no other one is taken."""
    worker, found = RemoteWorker(disk, SETTINGS, 1), []
    slow = request_for(task_of(tmp_path, "slow"))
    asking = threading.Thread(target=lambda: found.append(worker.run(slow)))
    asking.start()
    made[0].is_grading.wait()
    asyncio.run(worker.teardown(None))
    asking.join()
    (reply,) = found
    grade = Grade.from_json(reply["grade"])
    assert (grade.status, grade.message) == (
        GradeStatus.NOT_GRADED,
        "the judge was lost: it was killed",
    )
    with pytest.raises(JobLost):
        worker.run(slow)


@pytest.mark.usefixtures("made")
def test_a_remote_worker_without_requests_keeps_no_assignment(tmp_path, disk, monkeypatch):
    """A batch that is killed closes no remote worker, and the hidden tests must not stay there."""
    monkeypatch.setattr(remote_worker, "_IDLE_SECONDS", 0.05)
    worker = RemoteWorker(disk, SETTINGS, 2)
    until(lambda: not disk.exists(), "the folder is removed")
    with pytest.raises(JobLost):
        worker.run(request_for(task_of(tmp_path)))
    asyncio.run(worker.teardown(None))


def test_a_problem_of_the_machine_is_a_reply_that_says_so(tmp_path, disk, monkeypatch):
    """The batch then asks another machine."""
    own = RemoteWorker(disk, SETTINGS, 1)
    plugins: dict[str, Any] = {"grader-1": own, "other": object()}
    monkeypatch.setattr(remote_worker, "get_worker", lambda: SimpleNamespace(plugins=plugins))
    request = request_for(task_of(tmp_path))
    good = unpacked_reply(run_request("grader-1", request))
    assert Grade.from_json(good["grade"]) == a_grade("alice")
    for name in ("grader-2", "other"):
        reply = unpacked_reply(run_request(name, request))
        assert reply == {"failed": "its remote worker is closed"}
    asyncio.run(own.teardown(None))
    disk.touch()  # where no folder can be made
    full = unpacked_reply(run_request("grader-1", request))
    assert full["failed"].startswith("it has no room for a submission: ")


class DaskWorker:
    """A Dask worker, as far as its plugins need it."""

    def __init__(self, folder: Path, threads: int) -> None:
        self.local_directory = str(folder)
        self.state = SimpleNamespace(nthreads=threads)
        self.plugins: dict[str, Any] = {}

    async def plugin_add(self, plugin: Any, name: str, catch_errors: bool) -> None:
        assert not catch_errors
        self.plugins[name] = plugin

    async def plugin_remove(self, name: str) -> None:
        await self.plugins.pop(name).teardown(self)


def opened(worker: DaskWorker, tiny: Path, isolates: bool = False, **other: str) -> dict[str, Any]:
    """Opens a remote worker for a batch of the tiny assignment with these other versions."""
    assignment = find_assignment(tiny)
    settings = Options(seed=7).settings(assignment)
    wanted = versions(settings) | other
    return asyncio.run(
        open_remote_worker(
            "grader-1",
            packed_assignment(assignment),
            settings.as_json(),
            wanted,
            isolates,
            dask_worker=worker,
        )
    )


def test_a_remote_worker_has_a_job_for_each_thread(tiny, disk, made):
    """It holds the assignment until it is closed."""
    worker = DaskWorker(disk, 3)
    answer = opened(worker, tiny)
    assert (answer["jobs"], len(made), [*worker.plugins]) == (3, 3, ["grader-1"])
    (folder,) = disk.iterdir()
    assert folder.name.startswith("remote-worker-")
    assert (folder / "assignment" / "adapters.py").is_file()
    asyncio.run(close_remote_worker("grader-2", dask_worker=worker))
    assert [*worker.plugins] == ["grader-1"]
    asyncio.run(close_remote_worker("grader-1", dask_worker=worker))
    assert ([*worker.plugins], [*disk.iterdir()]) == ([], [])


def test_a_remote_worker_with_other_versions_is_not_opened(tiny, disk, made):
    """It says which versions it has, and keeps no file."""
    answer = opened(DaskWorker(disk, 3), tiny, torch="0.1")
    assert answer["jobs"] == 0
    assert answer["versions"]["torch"] != "0.1"
    assert (made, [*disk.iterdir()]) == ([], [])


def test_isolation_is_tried_there_if_it_is_required(tiny, disk, monkeypatch):
    """Without every layer, nothing is opened, and nothing is left."""

    def refuse() -> None:
        raise NotIsolated("no landlock")

    monkeypatch.setattr(remote_worker, "require_isolation", refuse)
    assert opened(DaskWorker(disk, 1), tiny)["jobs"] == 1
    (kept,) = disk.iterdir()
    with pytest.raises(NotIsolated):
        opened(DaskWorker(disk, 1), tiny, isolates=True)
    assert [*disk.iterdir()] == [kept]
