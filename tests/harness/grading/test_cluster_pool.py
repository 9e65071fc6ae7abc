"""The pool of jobs on a cluster, with a scheduler that a test plays."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from grader.core.assignment import BadAssignment, Settings
from grader.core.explanation import Words
from grader.core.verdict import GradeStatus
from grader.grading.cluster import pool as pools
from grader.grading.cluster.bundle import RemoteRequest, packed_reply
from grader.grading.cluster.connection import NoCluster
from grader.grading.cluster.pool import ClusterPool
from grader.grading.options import Explained, ExplanationTask, GradedTask, NotIsolated, Task
from grader.intake.copying import CopyFailed
from grader.intake.entry import Entry
from tests.harness.conftest import RIGHT, write_files
from tests.harness.export_fixtures import a_grade

pytestmark = pytest.mark.unit

A, B, C, D, E = (f"tcp://10.0.0.{number}:1" for number in range(1, 6))
PLACE = "tcp://10.0.0.9:8786"
SILENCE = object()
Answer = Callable[[str, str], Any]


def graded(_address: str, name: str) -> bytes:
    """Returns the reply of a remote worker that grades."""
    return packed_reply({"grade": a_grade(name).as_json(whole=True)})


class Scheduled:
    """The future of a request; `reply` is its result, or the exception that it raises."""

    def __init__(self, reply: Any) -> None:
        self.reply = reply
        self.released = 0

    def __await__(self) -> Iterator[Any]:
        yield from asyncio.sleep(0).__await__()
        if isinstance(self.reply, BaseException):
            raise self.reply
        return self.reply

    def release(self) -> None:
        self.released += 1


class Scheduler:
    """Stands for Dask's client: `answer` replies to requests, `opening` to a new remote worker.

    A request that is answered with `SILENCE` stays in flight.
    """

    def __init__(self, *addresses: str, answer: Answer = graded, jobs: int = 1) -> None:
        self.status = "running"
        self.addresses = addresses
        self.answer = answer
        self.jobs = jobs
        self.opening: dict[str, Any] = {}
        self.heard: Any = None
        self.sent: list[tuple[str, str]] = []
        self.futures: list[Scheduled] = []
        self.cancelled: list[Scheduled] = []
        self.ran: list[tuple[str, list[str]]] = []
        self.asked: Any = None
        self.loop = SimpleNamespace(add_callback=self._call_back)

    def _call_back(self, do: Any, given: Any) -> None:
        if getattr(given, "reply", None) is not SILENCE:
            asyncio.run(do(given))

    def subscribe_topic(self, topic: str, heard: Any) -> None:
        assert topic == "all"
        self.heard = heard

    def unsubscribe_topic(self, topic: str) -> None:
        assert topic == "all"
        self.heard = None

    def scheduler_info(self) -> dict[str, Any]:
        return {"workers": dict.fromkeys(self.addresses)}

    def run(self, function: Any, *given: Any, workers: list[str], on_error: str) -> Any:
        self.ran.append((function.__name__, workers))
        if function.__name__ == "close_remote_worker":
            assert on_error == "ignore"
            return {}
        assert on_error == "return"
        self.asked = given
        return self._opened(given[3], *workers)

    async def _opened(self, versions: Any, address: str) -> dict[str, Any]:
        answer = self.opening.get(address, {"jobs": self.jobs, "versions": versions})
        return {} if answer == "gone" else {address: answer}

    def submit(self, _run: Any, _name: str, request: RemoteRequest, **options: Any) -> Scheduled:
        (address,) = options["workers"]
        name = request.name
        assert request.package.content
        assert not options["pure"]
        self.sent.append((address, name))
        self.futures.append(Scheduled(self.answer(address, name)))
        return self.futures[-1]

    def cancel(self, futures: list[Scheduled], force: bool) -> None:
        assert force
        self.cancelled += futures


@pytest.fixture
def settings(tiny) -> Settings:
    """The settings of a batch of the tiny assignment."""
    return Settings(str(tiny), 7, (), "adapters.py", 1.0, 64, "suite")


@pytest.fixture
def tasks(tmp_path) -> Callable[[str], list[Task]]:
    """A function that returns the task for each letter, with a submission of that name."""

    def make(names: str) -> list[Task]:
        for name in names:
            write_files(tmp_path / name, {"adapters.py": RIGHT})
        return [Task(Entry(name, tmp_path / name), 0, "hash", "key") for name in names]

    return make


def a_pool(
    scheduler: Scheduler, settings: Settings, told: list[str] | None = None, **terms: Any
) -> ClusterPool:
    """Returns the pool; `told` gets the sentences about machines."""
    say = [].append if told is None else told.append
    return ClusterPool(scheduler, PLACE, settings, say, **terms)


def in_short(results: Any) -> list[tuple[str, GradeStatus, str | None]]:
    """Returns the name, the status and the message of each grade."""
    grades = [one.grade for one in results]
    return [(one.submission, one.status, one.message) for one in grades]


GRADED, NOT_GRADED = GradeStatus.GRADED, GradeStatus.NOT_GRADED


def test_every_submission_is_graded_and_explained_once(settings, tasks):
    """The work is spread over the machines, and remote workers are closed at the end."""
    scheduler = Scheduler(A, B)
    own = tasks("abcd")
    with a_pool(scheduler, settings, require_isolation=True) as pool:
        found = [*pool.grade(own)]
        assert {type(one) for one in found} == {GradedTask}
        assert sorted(in_short(found)) == [(name, GRADED, None) for name in "abcd"]
        assert {address for address, _ in scheduler.sent} == {A, B}
        words = {"words": Words(message="why").as_json()}
        scheduler.answer = lambda *_: packed_reply(words)
        questions = [ExplanationTask(task.entry, lambda: a_grade("a")) for task in own[:2]]
        told = [*pool.explain(questions)]
        assert [(one.task, one.words.message) for one in told] == [
            (question, "why") for question in questions
        ]
        assert scheduler.heard is not None
    name, bundle, given, wanted, must_isolate = scheduler.asked
    assert given == settings.as_json()
    assert (wanted["suite"], must_isolate, bool(bundle)) == ("suite", True, True)
    assert name.startswith("grader-")
    assert scheduler.heard is None
    opened, closed = "open_remote_worker", "close_remote_worker"
    assert scheduler.ran == [(opened, [A]), (opened, [B]), (closed, [A, B])]
    assert [future.released for future in scheduler.futures] == [1] * 6


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (b"no zlib", "its answer cannot be read: "),
        (packed_reply({}), "its answer holds no grade (KeyError: 'grade')"),
        (packed_reply({"failed": "it has no room"}), "it has no room"),
        (RuntimeError("out\n of  order"), "RuntimeError: out of order"),
        (asyncio.CancelledError(), "it answered with a CancelledError, not with bytes"),
    ],
)
def test_a_submission_is_sent_to_four_machines_at_most(settings, tasks, reply, why):
    """Each time it is another machine; the last one's problem is told."""
    scheduler = Scheduler(A, B, C, D, E, answer=lambda *_: reply)
    with a_pool(scheduler, settings) as pool:
        ((name, status, message),) = in_short(pool.grade(tasks("a")))
        assert (name, status) == ("a", NOT_GRADED)
        addresses = [address for address, _ in scheduler.sent]
        assert len({*addresses}) == 4
        assert message.startswith(
            f"{addresses[-1]}, the last of 4 machines that it was sent to: {why}"
        )
        (told,) = pool.explain([ExplanationTask(tasks("a")[0].entry, lambda: a_grade("a"))])
    assert isinstance(told, Explained)
    assert "the last of 4 machines that it was sent to" in (told.words.missing or "")


def test_a_submission_that_fails_on_one_machine_is_graded_on_another(settings, tasks):
    scheduler = Scheduler(A, B, answer=lambda at, name: b"" if at == A else graded(at, name))
    with a_pool(scheduler, settings) as pool:
        assert in_short(pool.grade(tasks("a"))) == [("a", GRADED, None)]
    assert scheduler.sent == [(A, "a"), (B, "a")]


def test_an_assignment_that_cannot_be_used_there_stops_the_batch(settings, tasks):
    """The message names the machine."""
    scheduler = Scheduler(A, answer=lambda *_: packed_reply({"stopped": "no such package"}))
    with (
        pytest.raises(BadAssignment, match=f"{A}: no such package"),
        a_pool(scheduler, settings) as pool,
    ):
        [*pool.grade(tasks("a"))]


def test_a_submission_that_cannot_be_packed_is_not_graded(settings, tasks, monkeypatch):
    def fail(_entry: Entry) -> None:
        raise CopyFailed("the disk is full")

    monkeypatch.setattr(pools, "pack", fail)
    with a_pool(Scheduler(A), settings) as pool:
        assert in_short(pool.grade(tasks("a"))) == [("a", NOT_GRADED, "the disk is full")]


# --- Machines that come and go ------------------------------------------------------------------


def test_submissions_of_a_machine_that_left_are_sent_to_one_that_came(settings, tasks):
    """A reply that comes too late is dropped."""

    def answer(address: str, name: str) -> Any:
        if address == B:
            return graded(address, name)
        scheduler.heard((0.0, {"action": "remove-worker", "worker": A}))
        scheduler.heard((0.0, {"action": "add-worker", "worker": B}))
        scheduler.heard((0.0, {"action": "something else", "worker": C}))
        return SILENCE

    scheduler = Scheduler(A, answer=answer)
    with a_pool(scheduler, settings) as pool:
        assert in_short(pool.grade(tasks("a"))) == [("a", GRADED, None)]
        assert [*pool._take(scheduler.futures[0], graded(A, "a"))] == []
    assert scheduler.sent == [(A, "a"), (B, "a")]
    assert scheduler.cancelled == scheduler.futures[:1]
    opened, joined, closed = scheduler.ran
    assert (opened, joined) == (("open_remote_worker", [A]), ("open_remote_worker", [B]))
    assert closed == ("close_remote_worker", [B])


def test_a_submission_whose_last_machine_left_is_not_graded(settings, tasks):
    """The fourth loss is the last."""
    left = iter([A, B, C])

    def answer(address: str, _name: str) -> Any:
        scheduler.heard((0.0, {"action": "remove-worker", "worker": address}))
        scheduler.heard((0.0, {"action": "add-worker", "worker": next(left, E)}))
        return SILENCE

    scheduler = Scheduler(D, answer=answer)
    with a_pool(scheduler, settings) as pool:
        ((_, status, message),) = in_short(pool.grade(tasks("a")))
    assert status == NOT_GRADED
    said = "the last of 4 machines that it was sent to: its machine was lost"
    assert message == f"{C}, {said}"


OTHERS = {"grader": "0.0.9", "torch": "1", "Python": "3", "suite": "x"}


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"jobs": 0, "versions": OTHERS}, "it has grader 0.0.9 and not"),
        (NotIsolated("isolation is required"), "isolation is required"),
        (ImportError("no grader"), "it has no such grader as here (ImportError: no grader)"),
        (AttributeError("no x"), "it has no such grader as here (AttributeError: no x)"),
        (RuntimeError("out of\nmemory"), "RuntimeError: out of memory"),
        ("gone", "OSError: it is gone"),
    ],
    ids=lambda one: type(one).__name__,
)
def test_a_machine_that_must_not_grade_is_refused_with_the_reason(settings, tasks, answer, reason):
    """The others grade; if there are none, the batch ends with all reasons."""
    for others in ((B,), ()):
        told: list[str] = []
        scheduler = Scheduler(A, *others)
        scheduler.opening = {A: answer}
        with a_pool(scheduler, settings, told) as pool:
            results = pool.grade(tasks("a"))
            if others:
                assert in_short(results) == [("a", GRADED, None)]
                assert scheduler.sent == [(B, "a")]
            else:
                with pytest.raises(NoCluster) as refused:
                    next(iter(results))
                said = f"every worker of {PLACE} is refused ({A}: {reason}"
                assert str(refused.value).startswith(said)
        assert [sentence.startswith(f"{A} is refused: {reason}") for sentence in told] == [True]


def test_a_lost_scheduler_ends_the_batch(settings, tasks):
    """Nothing can be closed any more."""

    def answer(*_: str) -> Any:
        scheduler.status = "closed"
        return SILENCE

    scheduler = Scheduler(A, answer=answer)
    lost = f"the scheduler at {PLACE} was lost: the grades so far are kept"
    with pytest.raises(NoCluster, match=lost), a_pool(scheduler, settings) as pool:
        [*pool.grade(tasks("a"))]
    assert scheduler.heard is not None
    assert [function for function, _ in scheduler.ran] == ["open_remote_worker"]
    scheduler.status = "running"
    scheduler.answer = lambda *_: (setattr(scheduler, "status", "closed"), OSError("closed"))[1]
    with pytest.raises(NoCluster, match=lost), a_pool(scheduler, settings) as pool:
        [*pool.grade(tasks("a"))]


def test_a_batch_that_stops_cancels_what_is_in_flight(settings, tasks):
    """The scheduler forgets the requests."""
    scheduler = Scheduler(A, B, answer=lambda at, name: SILENCE if at == B else graded(at, name))
    with a_pool(scheduler, settings) as pool:
        next(iter(pool.grade(tasks("ab"))))
    in_flight = [future for future in scheduler.futures if future.reply is SILENCE]
    assert scheduler.cancelled == in_flight


def test_a_scheduler_without_machines_is_waited_for_with_patience(settings, monkeypatch):
    """One sentence tells it after half a minute; then the batch gives up."""
    told: list[str] = []
    pool = a_pool(Scheduler(), settings, told, patience=300.0)
    now = 1000.0
    monkeypatch.setattr(pools, "time", SimpleNamespace(monotonic=lambda: now))
    waiting = f"{PLACE} has no worker that is ready: waiting for one"
    for later, expected in [(0, []), (30, []), (31, [waiting]), (299, [waiting]), (300, [waiting])]:
        now = 1000.0 + later
        pool._look_who_is_there()
        assert told == expected
    now = 1301.0
    with pytest.raises(NoCluster, match=f"{PLACE} has had no worker for 300 seconds: start some"):
        pool._look_who_is_there()
    pool._room[A] = 1
    pool._look_who_is_there()
    del pool._room[A]
    for later, expected in [(400, [waiting]), (431, [waiting] * 2)]:
        now = 1000.0 + later
        pool._look_who_is_there()
        assert told == expected


# --- How much is sent ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("jobs", "machine_jobs", "sent"), [(None, 1, 2), (1, 1, 1), (2, 2, 2), (None, 2, 4)]
)
def test_no_more_is_sent_than_may_be_graded_at_a_time(settings, tasks, jobs, machine_jobs, sent):
    """A machine gets one submission for each of its jobs."""
    scheduler = Scheduler(A, B, answer=lambda *_: SILENCE, jobs=machine_jobs)
    with a_pool(scheduler, settings, jobs=jobs) as pool:
        pool._room.update({A: machine_jobs, B: machine_jobs})
        pool._waiting.extend(pools._Attempt(task) for task in tasks("abcde"))
        assert [*pool._send_what_has_room()] == []
    assert len(scheduler.sent) == sent


def test_the_next_submission_goes_to_the_machine_with_the_most_room(settings):
    """A shunned one gets it if no other has room."""
    with a_pool(Scheduler(), settings) as pool:
        pool._room.update({A: 1, B: 3, C: 0})
        assert pool._place(()) == B
        assert pool._place([B]) == A
        assert pool._place([A, B]) == B
        pool._room.update({A: 0, B: 0})
        assert pool._place(()) is None


# --- Machines that are asked --------------------------------------------------------------------


def test_a_machine_is_asked_once_and_again_only_if_it_came_back(settings):
    scheduler = Scheduler(A)
    with a_pool(scheduler, settings):
        for action in ("add-worker", "remove-worker", "add-worker"):
            scheduler.heard((0.0, {"action": action, "worker": A}))
        assert scheduler.ran == [("open_remote_worker", [A])] * 2


def test_a_machine_that_left_while_it_opened_stays_away(settings):
    """Its answer comes too late."""
    told: list[str] = []
    with a_pool(Scheduler(), settings, told) as pool:
        pool._admit(A, {"jobs": 2, "versions": {}})
        pool._admit(A, OSError("it is gone"))
        assert (pool._room, pool._refused, told) == ({}, {}, [])


def test_a_cluster_is_hopeless_only_if_all_that_are_there_were_refused(settings):
    with a_pool(Scheduler(), settings) as pool:
        pool._asked.update((A, B))
        pool._admit(A, OSError("it is gone"))
        pool._look_who_is_there()
        pool._admit(B, {"jobs": 1, "versions": {}})
        pool._look_who_is_there()
        pool._asked.discard(B)
        assert [*pool._lose(B)] == []
        with pytest.raises(NoCluster):
            pool._look_who_is_there()
