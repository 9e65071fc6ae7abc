"""Lines between the coordinator and its jobs, with real processes that load nothing."""

from __future__ import annotations

import os
import signal
import sys

import pytest

from grader.grading.job import lines
from grader.grading.job.lines import Collector, LineChannel, start_jobs

# A stand-in for a collector: each job answers its first order, and ends when it is hung up on.
ANSWERS = """
import os, sys
pairs = [(0, 1), *(tuple(map(int, pair.split(","))) for pair in sys.argv[1:])]
for number, (order, answer) in enumerate(pairs):
    os.write(answer, b"%d heard " % number + os.read(order, 99))
for order, answer in pairs:
    os.read(order, 1)
    os.close(answer)
"""
STUBBORN = "import time; time.sleep(600)"


def command(program: str) -> tuple[str, ...]:
    """Returns the command of a program that loads nothing."""
    return (sys.executable, "-I", "-S", "-c", program)


# --- A channel ----------------------------------------------------------------------------------


@pytest.fixture
def channel():
    """A channel, the descriptor to write orders to, and the one to read answers from."""
    (listening, orders), (answers, answering) = os.pipe(), os.pipe()
    yield LineChannel(listening, answering), orders, answers
    os.close(answers)


@pytest.mark.unit
def test_a_channel_gives_each_line_until_the_coordinator_hangs_up(channel):
    """Lines are objects of JSON."""
    own, orders, _ = channel
    os.write(orders, b'{"be": "judge"}\n{"leave": true}\n')
    os.close(orders)
    assert own.next() == {"be": "judge"}
    assert [*own] == [{"leave": True}]
    assert own.next() is None


@pytest.mark.unit
def test_answers_are_whole_lines_and_hold_no_nan(channel):
    """A line that another process left half written is ended before the next answer."""
    own, orders, answers = channel
    own.say({"ready": 1})
    assert os.read(answers, 99) == b'{"ready": 1}\n'
    own.end_line()
    assert os.read(answers, 99) == b"\n"
    with pytest.raises(ValueError, match="JSON"):
        own.say({"score": float("nan")})
    os.close(orders)


@pytest.mark.unit
def test_answers_to_a_coordinator_that_is_gone_are_dropped():
    """A job that notices it late ends in its own time."""
    (listening, orders), (answers, answering) = os.pipe(), os.pipe()
    own = LineChannel(listening, answering)
    os.close(answers)
    own.say({"ready": 1})
    own.end_line()
    own.close()
    with pytest.raises(OSError, match="Broken pipe"):
        os.write(orders, b"x")
    os.close(orders)


# --- Processes ----------------------------------------------------------------------------------


def answer_of(job) -> bytes:
    """Returns the next answer of a job."""
    return os.read(job.answer, 99)


@pytest.mark.process
def test_each_job_has_pipes_of_its_own():
    """The last job that ends waits for their common process, and returns its exit code."""
    jobs = start_jobs(command(ANSWERS + "sys.exit(3)"), 3)
    for number, job in enumerate(jobs):
        job.send(b"order %d" % number)
    assert [answer_of(job) for job in jobs] == [b"%d heard order %d" % (n, n) for n in range(3)]
    assert [job.end() for job in jobs] == [0, 0, 3]
    for job in jobs:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(job.answer)


@pytest.mark.process
def test_a_job_that_does_not_end_is_killed(monkeypatch):
    """It gets some seconds to end by itself."""
    monkeypatch.setattr(lines, "_SECONDS_TO_END", 0.05)
    (job,) = start_jobs(command(STUBBORN), 1)
    assert job.end() == -signal.SIGKILL


@pytest.mark.process
def test_a_collector_that_outlives_its_jobs_is_killed(monkeypatch):
    """Nothing may stay behind when a batch has ended."""
    monkeypatch.setattr(lines, "_SECONDS_TO_END", 0.05)
    (job,) = start_jobs(command(f"import os; os.close(1); {STUBBORN}"), 1)
    assert answer_of(job) == b""
    assert job.end() == -signal.SIGKILL


@pytest.mark.process
def test_killing_one_job_spares_the_others_once_its_process_is_known():
    """Until then all that started with it are killed."""
    one, other = start_jobs(command(STUBBORN), 2)
    beside = Collector(command(STUBBORN), [(os.open(os.devnull, os.O_RDWR),) * 2])
    one.pid = beside._process.pid
    one.kill()
    assert beside.release() == -signal.SIGKILL
    assert other._collector._process.poll() is None
    other.kill()
    assert [one.end(), other.end()] == [0, -signal.SIGKILL]
    other.kill()


@pytest.mark.process
def test_jobs_compute_on_one_thread_and_find_this_engine(monkeypatch):
    """Sums come out alike on every machine; the course's own path is kept."""
    monkeypatch.setenv("PYTHONPATH", "/course")
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "PYTHONPATH")
    said = f"import os; os.write(1, repr([os.environ[n] for n in {names}]).encode())"
    (job,) = start_jobs(command(said), 1)
    engine = str(lines.Path(lines.__file__).parents[3])
    assert answer_of(job) == repr(["1", "1", "1", f"{engine}{os.pathsep}/course"]).encode()
    assert job.end() == 0
