"""The time limit for all calls of a submission together."""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path

import pytest
import torch

from grader.core.assignment import find_assignment
from grader.core.verdict import Status
from grader.core.wire.calls import Answer, Call, SealedAnswer
from grader.intake.copying import CopyFailed
from grader.sandbox import preparation, session
from grader.sandbox.limits import PRICE_OF_JUDGE
from grader.sandbox.session import SessionLimits
from grader.testing.outcome import StudentFault
from tests.harness.conftest import write_files
from tests.harness.prepared_submissions import prepared

pytestmark = pytest.mark.process

SHARED = """
def wait():
    while True:
        pass


run_a = run_b = run_c = run_d = run_e = wait


def run_f():
    return 6
"""


def test_a_hanging_helper_leaves_time_for_other_exercises(tiny, tmp_path, monkeypatch):
    """Five exercises that hang twice for 0.8 s would need 8 s, more than the limit of 6 s."""
    monkeypatch.setattr("grader.sandbox.session.WALL_FACTOR", 100)
    folder = write_files(tmp_path / "alice", {"adapters.py": SHARED})
    limits = SessionLimits(6.0, 0.8, 600.0, 1 << 30)
    said = []
    with prepared(find_assignment(tiny), folder, limits) as one:
        for adapter in 2 * ["run_a", "run_b", "run_c", "run_d", "run_e"]:
            with pytest.raises(StudentFault) as fault:
                one.ask(Call(adapter, {}))
            assert fault.value.status is Status.TIMEOUT
            said.append(fault.value.headline)
        assert all("longer than 0.8 seconds" in one for one in said[:4])
        assert all("longer than 0.2 seconds" in one for one in said[4:])
        assert said[4].endswith("was stopped (4 calls before had 0.8 s)")
        answer = one.ask(Call("run_f", {}))
        assert isinstance(answer, Answer)
        assert answer.value == 6


DEEP = """
def run_deep():
    print("it deepens")
    value = []
    for _ in range(30):
        value = [value]
    return value


def run_double(x):
    return x
"""


def test_a_result_too_deep_to_be_passed_on_is_the_submissions_fault(tiny, tmp_path):
    """A test may put it into values of its own, which then have too many levels to cross."""
    folder = write_files(tmp_path / "alice", {"adapters.py": DEEP})
    with prepared(find_assignment(tiny), folder, SessionLimits(60.0, 30.0, 600.0, 1 << 30)) as one:
        deep = one.ask(Call("run_deep", {})).value
        used = one.used
        with pytest.raises(StudentFault, match="too many parts or levels") as fault:
            one.ask(Call("run_double", {"x": [[[[deep]]]]}))
        assert fault.value.status is Status.CRASHED
        # The call before printed this, and took its time.
        assert "it deepens" not in str(fault.value)
        assert one.printed == "it deepens\n"
        assert one.used == used


JUNK = """
import json, os, stat, struct, time


def run_junk():
    outline = json.dumps({"value": None, "junk": {"list": [None] * 200_000}}).encode()
    frame = struct.pack(">4sIIQ", b"GRDR", 2, len(outline), 0) + b"{}" + outline
    for number in range(3, 32):
        try:
            is_channel = stat.S_ISSOCK(os.fstat(number).st_mode)
        except OSError:
            continue
        while is_channel and frame:
            frame = frame[os.write(number, frame):]
    time.sleep(600)  # the judge reads, and ends this


def run_small():
    return 1
"""


def test_time_to_read_an_answer_counts_for_the_submission(tiny, tmp_path):
    """Reading megabytes of JSON takes the judge as long as an honest submission in all."""
    folder = write_files(tmp_path / "alice", {"adapters.py": JUNK})
    with prepared(find_assignment(tiny), folder, SessionLimits(60.0, 30.0, 600.0, 1 << 30)) as one:
        one.ask(Call("run_small", {}))
        before = one.used
        reading = time.thread_time()
        assert one.ask(Call("run_junk", {})).size > 1 << 20
        reading = time.thread_time() - reading
        assert one.used - before >= reading / 2 > 0


ALL_SORTS = """
import os, sys
import torch
print("hello")

def run_exit():
    os._exit(3)

def run_raise(path):
    print("so far", end="")
    return open(path)

def run_hang():
    while True:
        pass

def run_add(x):
    return torch.add(x, x)

def run_hoard(n):
    global HELD
    HELD = bytearray(n)
    for place in range(0, n, 4096):
        HELD[place] = 1
    return len(HELD)

def run_device(x):
    return x + x
"""


@pytest.fixture
def one(tiny, tmp_path):
    """A prepared submission of all sorts of adapters, with a second for each call."""
    folder = write_files(tmp_path / "alice", {"adapters.py": ALL_SORTS})
    limits = SessionLimits(20.0, 1.0, 60.0, 1 << 29, dumps_stack=True)
    forbidding = dataclasses.replace(find_assignment(tiny), forbidden={"torch.add": 50.0})
    with prepared(forbidding, folder, limits) as submission:
        yield submission


def test_an_exercise_that_lost_two_workers_is_not_asked_again(one):
    """Each loss says how the process ended; other exercises go on in a new worker."""
    said = []
    for _ in range(3):
        with pytest.raises(StudentFault) as fault:
            one.ask(Call("run_exit", {}))
        assert fault.value.status is Status.CRASHED
        said.append(fault.value.headline)
    assert said[0] == said[1] == "run_exit(...) ended its process (exit code 3)"
    assert said[2].startswith("run_exit")
    assert said[2] != said[1]
    assert said[2].endswith(said[1])
    assert one.ask(Call("run_device", {"x": 2})).value == 4
    assert one.problem is None


def test_an_exception_has_the_output_before_it_and_no_place_of_this_machine(one):
    raised = one.ask(Call("run_raise", {"path": "/etc/shadow"})).raised
    assert raised.kind in ("PermissionError", "FileNotFoundError")
    assert raised.printed == "so far"
    assert raised.frames[-1].file == "adapters.py"
    assert one.printed.endswith("hello\nso far")
    own = one.ask(Call("run_raise", {"path": str(one.submission.root / "absent")})).raised
    assert str(one.submission.root) not in own.message


def test_the_examination_of_an_exception_is_charged_to_the_submission(one, monkeypatch):
    """Its text is searched for paths, and files that it names are looked for."""
    one.open()
    redact, before = session.redacted, one.used
    burn = 0.2

    def slow(*given):
        end = time.thread_time() + burn
        while time.thread_time() < end:
            pass
        return redact(*given)

    monkeypatch.setattr(session, "redacted", slow)
    one.ask(Call("run_raise", {"path": "absent"}))
    assert one.used - before >= PRICE_OF_JUDGE * burn


def test_a_late_call_leaves_its_traceback(one):
    """A later call has none."""
    with pytest.raises(StudentFault) as fault:
        one.ask(Call("run_hang", {}), seconds=0.3)
    assert fault.value.headline.startswith("run_hang(...) took longer than 0.3 seconds")
    assert "in run_hang" in one.stack_dump
    assert one.used >= 0.3
    assert one.ask(Call("run_device", {"x": 2})).value == 4
    assert one.stack_dump == ""


def test_uses_of_forbidden_names_are_noted_for_their_exercise(one):
    assert one.open() is None
    one.ask(Call("run_add", {"x": torch.ones(1)}))
    (use,) = one.uses.called["run_add"]
    assert (use.name, use.file) == ("torch.add", "adapters.py")
    assert one.uses.at_import == {}


def test_a_familiar_answer_stays_sealed_until_it_is_opened(one):
    """Exceptions and uses of forbidden names are never familiar: each is looked at."""
    assert one.open() is None
    familiar: set[bytes] = set()
    first, second = (
        one.ask(Call("run_device", {"x": torch.ones(2)}), familiar=familiar) for _ in range(2)
    )
    assert isinstance(first, Answer)
    assert isinstance(second, SealedAnswer)
    assert (second.digest, second.size) == (first.digest, first.size)
    assert second.opened().value.tolist() == first.value.tolist() == [2.0, 2.0]
    assert familiar == {first.digest}
    for call in (Call("run_add", {"x": torch.ones(2)}), Call("run_raise", {"path": "none"})):
        for _ in range(2):
            assert isinstance(one.ask(call, familiar=familiar), Answer)
    assert familiar == {first.digest}


def test_time_beyond_the_whole_limit_is_refused_and_spent_time_is_told(one):
    """Reading answers costs four times its seconds."""
    one.open()
    before = one.used
    one.charge(0.5)
    assert one.used == before + 2.0
    assert one.spent == one.used
    one.charge(5.0)
    with pytest.raises(StudentFault, match="the submission") as fault:
        one.ask(Call("run_device", {"x": 2}))
    assert fault.value.status is Status.TIMEOUT


def test_a_bench_has_a_worker_of_its_own_whose_time_is_not_the_submissions(one):
    one.open()
    used = one.used
    with one.bench() as bench:
        assert bench.ask(Call("run_device", {"x": 2})).value == 4
        assert bench.seconds > 0
        beside = one.spent
        assert beside > used
        with pytest.raises(StudentFault):
            bench.ask(Call("run_exit", {}))
    assert one.used == used
    assert one.spent >= beside


def test_memory_beyond_the_limit_is_refused_to_the_submission(one):
    """The worker goes on."""
    assert one.ask(Call("run_hoard", {"n": 3 << 30})).raised.kind == "MemoryError"
    assert one.ask(Call("run_hoard", {"n": 1})).value == 1


@pytest.mark.parametrize(
    ("program", "says"),
    [
        ("raise ValueError('no')", "ValueError"),
        ("import os\nos._exit(4)", "importing the submission ended its process (exit code 4)"),
    ],
)
def test_a_submission_that_cannot_be_imported_has_one_problem(tiny, tmp_path, program, says):
    """Every later call is refused for the same reason."""
    folder = write_files(tmp_path / "alice", {"adapters.py": program})
    limits = SessionLimits(20.0, 1.0, 60.0, 1 << 30)
    with prepared(find_assignment(tiny), folder, limits) as submission:
        fault = submission.open()
        assert says in fault.message
        for _ in range(2):
            with pytest.raises(StudentFault) as again:
                submission.ask(Call("run_double", {"x": 2}))
            assert again.value.message == fault.message
        assert submission.isolation["syscalls"]


@pytest.mark.unit
def test_a_submission_whose_files_vanished_is_not_graded(tmp_path):
    """Another process removed them; the error that this caused is kept as its reason."""
    with preparation._unless_gone(tmp_path) as kept:
        kept.append(tmp_path)
    with pytest.raises(KeyError), preparation._unless_gone(tmp_path):
        raise KeyError
    for gone in (tmp_path / "absent", tmp_path):
        with pytest.raises(CopyFailed, match="somebody else removed") as problem:
            vanish(tmp_path if gone.exists() else gone, tmp_path)
        assert type(problem.value.__cause__) is ValueError


def vanish(folder: Path, other: Path) -> None:
    """Prepares a submission whose folder, or another file of it, is gone."""
    with preparation._unless_gone(folder) as kept:
        kept.append(other / "absent")
        raise ValueError
