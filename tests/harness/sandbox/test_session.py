"""The time limit for all calls of a submission together."""

from __future__ import annotations

import time

import pytest

from grader.core.assignment import find_assignment
from grader.core.verdict import Status
from grader.core.wire.calls import Answer, Call
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
                one.session.ask(Call(adapter, {}))
            assert fault.value.status is Status.TIMEOUT
            said.append(fault.value.headline)
        assert all("longer than 0.8 seconds" in one for one in said[:4])
        assert all("longer than 0.2 seconds" in one for one in said[4:])
        assert said[4].endswith("was stopped (4 calls before had 0.8 s)")
        answer = one.session.ask(Call("run_f", {}))
        assert isinstance(answer, Answer)
        assert answer.value == 6


DEEP = """
def run_deep():
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
        deep = one.session.ask(Call("run_deep", {})).value
        with pytest.raises(StudentFault, match="too many parts or levels") as fault:
            one.session.ask(Call("run_double", {"x": [[[[deep]]]]}))
        assert fault.value.status is Status.CRASHED


JUNK = """
import json, os, stat, struct


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
    os._exit(0)


def run_small():
    return 1
"""


def test_time_to_read_an_answer_counts_for_the_submission(tiny, tmp_path):
    """Reading megabytes of JSON takes the judge as long as an honest submission in all."""
    folder = write_files(tmp_path / "alice", {"adapters.py": JUNK})
    with prepared(find_assignment(tiny), folder, SessionLimits(60.0, 30.0, 600.0, 1 << 30)) as one:
        one.session.ask(Call("run_small", {}))
        before = one.session.used
        reading = time.thread_time()
        assert one.session.ask(Call("run_junk", {})).size > 1 << 20
        reading = time.thread_time() - reading
        assert one.session.used - before >= reading / 2 > 0
