"""Jobs at work: the surroundings of judges and explainers, and what follows when one is lost."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from grader.core.assignment import BadAssignment, Settings
from grader.grading.job import process, work
from grader.grading.job.client import JobClient
from grader.grading.job.lines import LineChannel
from grader.grading.job.work import Job
from grader.grading.options import Task
from grader.intake.entry import Entry
from grader.sandbox.fork_server import ForkServerLost
from tests.harness.conftest import TINY, write_files
from tests.harness.forking import in_a_fork

pytestmark = pytest.mark.unit

# Tests run in the judge, and so can write down what is around them.
LOOKS = """
    import ctypes, gc, json, os, resource, signal, sys, tempfile
    from pathlib import Path

    def dies_with():
        number = ctypes.c_int()
        ctypes.CDLL(None).prctl(2, ctypes.byref(number), 0, 0, 0)
        return number.value

    def seen():
        return {
            "pid": os.getpid(), "parent": os.getppid(), "session": os.getsid(0),
            "dies_with": dies_with(), "is_deaf": signal.getsignal(signal.SIGINT) == signal.SIG_IGN,
            "collects": gc.isenabled(), "frozen": gc.get_freeze_count(),
            "allocated": gc.get_threshold()[0], "read": sys.stdin.read(),
            "temporary": tempfile.gettempdir(), "is_there": Path(tempfile.gettempdir()).is_dir(),
            "compiled": os.environ["TORCHINDUCTOR_CACHE_DIR"],
            "bound": resource.getrlimit(resource.RLIMIT_DATA)[0],
        }

    COLLECTOR = {"dies_with": dies_with(), "collects": gc.isenabled(), "pid": os.getpid()}
    print('{"stopped": "a module of the course says so"}', flush=True)
    """
TEST = """
    import json
    from pathlib import Path

    from grader.testing import exercise
    from surroundings import COLLECTOR, seen

    @exercise("run_double")
    def test_looks(student, draw):
        '''It looks around.'''
        print('{"stopped": "a test says so"}', flush=True)
        with (Path(__file__).parents[2] / "seen.jsonl").open("a") as log:
            log.write(json.dumps(seen() | {"collector": COLLECTOR}) + "\\n")
        assert (student(draw(2)) < 9).all()

    @exercise("run_count")
    def test_counts(student, draw):
        '''The numbers are counted.'''
        assert student(draw(2)) == 2
    """
UNLIMITED = -1


@pytest.fixture(scope="module")
def looked(tmp_path_factory) -> dict[str, Any]:
    """The surroundings of a judge and an explainer, and what is left when they have ended."""
    folder = tmp_path_factory.mktemp("surroundings")
    files = {name: text for name, text in TINY.items() if not name.startswith("tests/")} | {
        "tests/conftest.py": TINY["tests/conftest.py"],
        "surroundings.py": LOOKS,
        "tests/public/test_it.py": TEST,
    }
    course = write_files(folder / "course", files)
    wrong = "def run_double(x):\n    return x * 0 + 99\n\ndef run_count(x):\n    return 2\n"
    entry = Entry("alice", write_files(folder / "alice", {"adapters.py": wrong}))
    client = JobClient(Settings(str(course), 1, (), "adapters.py", 20.0, 512, "suite"), 2)
    with contextlib.closing(client):
        grade = client.grade(Task(entry, 0, "hash", ""))
        words = client.explain(entry, grade)
        job = client._process.pid
    rows = [*map(json.loads, (course / "seen.jsonl").read_text().splitlines())]
    first, last = rows[0], rows[-1]
    assert first["pid"] != last["pid"]
    return {"grade": grade, "words": words, "judge": first, "explainer": last, "job": job}


@pytest.mark.process
def test_tests_can_neither_read_a_jobs_orders_nor_write_its_answers(looked):
    """Their output goes to the terminal, and their input is empty."""
    assert [str(test.status) for test in looked["grade"].tests] == ["failed", "passed"]
    assert looked["words"].missing is None
    assert {looked[role]["read"] for role in ("judge", "explainer")} == {""}


@pytest.mark.process
def test_judges_and_explainers_end_with_their_job(looked):
    """A job is a session of its own, so that it can be killed with all that it started."""
    for role in ("judge", "explainer"):
        own = looked[role]
        assert own["parent"] == own["session"] == looked["job"]
        assert own["dies_with"] == own["collector"]["dies_with"] == signal.SIGKILL
        assert own["is_deaf"], "Ctrl-C reaches the coordinator alone"
    assert looked["judge"]["collector"]["pid"] != looked["job"]


@pytest.mark.process
def test_the_files_of_a_job_go_with_it(looked):
    """Temporary files of tests and what torch compiles lie in its scratch folder."""
    for role in ("judge", "explainer"):
        own = looked[role]
        assert own["is_there"]
        assert own["compiled"].startswith(own["temporary"])
        assert not Path(own["temporary"]).exists()


@pytest.mark.process
def test_a_judge_may_grow_by_a_bounded_amount_of_memory(looked):
    """The explainer has a bound of its own."""
    assert looked["judge"]["bound"] != UNLIMITED
    assert looked["explainer"]["bound"] != UNLIMITED


@pytest.mark.process
def test_what_all_jobs_share_is_left_out_of_garbage_collection(looked):
    """It is off while they load; explainers make many short-lived trees and collect less often."""
    judge, explainer = looked["judge"], looked["explainer"]
    assert (judge["collector"]["collects"], judge["collects"], explainer["collects"]) == (
        False, True, True,
    )  # fmt: skip
    assert judge["frozen"] > 1000
    assert explainer["allocated"] == 50_000 > judge["allocated"]


# --- Roles --------------------------------------------------------------------------------------


class Channel:
    """The lines of a coordinator, and the answers to them."""

    def __init__(self, *lines: dict[str, Any]) -> None:
        self.lines = [*lines]
        self.said: list[Any] = []

    def __iter__(self) -> Any:
        while self.lines:
            yield self.lines.pop(0)

    def say(self, line: dict[str, Any]) -> None:
        self.said.append(line)

    def end_line(self) -> None:
        self.said.append("the end of a line")


class Server:
    """A fork server or an intake process, which may be given up or closed."""

    def __init__(self) -> None:
        self.given_up = self.closed = 0

    def give_up(self) -> None:
        self.given_up += 1

    def close_own(self) -> None:
        self.closed += 1


class Forking(Job):
    """A job whose children end with the codes in their orders."""

    __slots__ = ()

    def _as_child(self, order: dict[str, Any]) -> int:
        return order["code"]


def test_a_lost_child_leaves_nothing_to_the_next_one(tmp_path):
    """Workers, unread answers and files go; a half line is ended."""
    servers, intake = Server(), Server()
    (tmp_path / "left").mkdir()
    (tmp_path / "left" / "file").write_text("")
    (tmp_path / "file").write_text("")
    channel = Channel({"code": 0}, {"code": -9})
    collected = SimpleNamespace(suite=SimpleNamespace(max_score=5.0))
    Forking(collected, channel, servers, intake, tmp_path).serve()
    greeting, fine, ended, lost = channel.said
    assert greeting == {"collected": {"max_score": 5.0, "pid": os.getpid()}}
    assert (fine, ended, lost) == ({"ended": 0}, "the end of a line", {"ended": -9})
    assert (servers.given_up, intake.given_up, [*tmp_path.iterdir()]) == (1, 1, [])


def test_a_child_takes_submissions_until_it_is_told_to_leave(monkeypatch):
    """A coordinator that hangs up ends it at once."""
    ended: list[int] = []
    monkeypatch.setattr(work.os, "_exit", ended.append)
    channel = Channel({"entry": 1}, {"leave": True}, {"entry": 2})
    job = Job(None, channel, None, None, Path())
    assert [*job._submissions()] == [{"entry": 1}]
    assert ended == []
    assert [*job._submissions()] == [{"entry": 2}]
    assert ended == [0]


class Loading(Job):
    """A job whose children say whether the modules that explain were loaded before them."""

    __slots__ = ()

    def _be(self, order: dict[str, Any]) -> None:
        self.lines.say({order["be"]: self.collected.explaining})


@pytest.mark.process
@pytest.mark.parametrize(("role", "before"), [("judge", None), ("explainer", "loaded")])
def test_a_judge_does_not_wait_for_the_modules_that_explain(monkeypatch, role, before):
    """They load while it works, and before an explainer; a lost fork server stops neither."""

    def lost() -> Any:
        raise ForkServerLost("it did not start")

    monkeypatch.setattr(work, "Explaining", lambda _: "loaded")
    (answers, answering), (listening, orders) = os.pipe(), os.pipe()
    with contextlib.closing(LineChannel(listening, answering)) as channel:
        collected = SimpleNamespace(suite=None, explaining=None)
        job = Loading(collected, channel, SimpleNamespace(current=lost), None, Path())
        assert job._as_child({"be": role}) == 0
    assert collected.explaining == "loaded"
    assert json.loads(os.read(answers, 99)) == {role: before}
    os.close(answers)
    os.close(orders)


@pytest.mark.process
def test_a_child_ends_the_servers_that_it_started():
    """The scratch folder of its job would otherwise be removed with them."""

    def ended() -> list[int]:
        servers, intake = Server(), Server()
        service = SimpleNamespace(
            bound_this_process=lambda: None, ExplainerService=lambda *_: 1 / 0
        )
        explaining = SimpleNamespace(service=service, mistakes=None, slips=None)
        collected = SimpleNamespace(suite=None, settings=None, explaining=explaining)
        with contextlib.suppress(ZeroDivisionError):
            Job(collected, Channel(), servers, intake, Path())._be({"be": "explainer"})
        return [servers.closed, intake.closed]

    assert in_a_fork(ended) == [1, 1]


@pytest.mark.process
@pytest.mark.parametrize(
    ("raised", "code", "said"),
    [
        (None, 0, []),
        (BadAssignment("no tests"), 1, [{"stopped": "no tests"}]),
        (ValueError("x"), 1, []),
    ],
    ids=repr,
)
def test_a_forked_child_ends_after_its_work(raised, code, said):
    """It never goes on with its parent's; a course that cannot be used is told."""
    (answers, answering), (listening, orders) = os.pipe(), os.pipe()
    channel = LineChannel(listening, answering)

    def do() -> None:
        os.write(answering, b'"at work"\n')
        if raised is not None:
            raise raised

    pid = work._forked(do, channel)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == code
    channel.close()
    os.close(orders)
    told = os.read(answers, 999).splitlines()
    os.close(answers)
    assert [*map(json.loads, told)] == ["at work", *said]


@pytest.mark.process
def test_a_job_that_ended_is_told_with_its_exit_code(monkeypatch):
    """Its last line may be cut off; the answers of the others are not touched."""

    def dies(code: int, end: LineChannel) -> None:
        end.say({"session": os.getsid(0)})
        os.write(end._answering.fileno(), b'{"half')
        os._exit(code)

    monkeypatch.setattr(work, "work", dies)
    pipes = [(os.pipe(), os.pipe()) for _ in range(2)]
    ends = [LineChannel(orders[0], answers[1]) for orders, answers in pipes]
    # Another process waits for the jobs, because it waits for all of its children.
    pid = work._forked(lambda: work.run_jobs(3, ends), ends[0])
    os.waitpid(pid, 0)
    for end in ends:
        end.close()
    told = [os.read(answers[0], 999).splitlines() for _, answers in pipes]
    for session, half, gone in told:
        assert json.loads(session)["session"] not in (os.getsid(0), pid)
        assert (half, json.loads(gone)) == (b'{"half', {"gone": 3})
    for orders, answers in pipes:
        os.close(orders[1])
        os.close(answers[0])


# --- System calls -------------------------------------------------------------------------------


def test_only_system_calls_that_can_be_granted_are(monkeypatch):
    """The author reads which one cannot, and why."""
    assert process._granted(SimpleNamespace(system_calls=())) == ()
    why = {"bad": "bad reaches out"}
    tables = SimpleNamespace(why_not_granted=why.get)
    monkeypatch.setitem(sys.modules, "grader.worker.confinement.seccomp", tables)
    assert process._granted(SimpleNamespace(system_calls=("a", "b"))) == ("a", "b")
    with pytest.raises(BadAssignment, match=r"\[tool.grader\] system_calls: bad reaches out"):
        process._granted(SimpleNamespace(system_calls=("a", "bad")))
